package external

import (
	"strings"
	"testing"
)

// TestHooksThatCannotBeRead: the error shows the lines, without the password in them.
func TestHooksThatCannotBeRead(t *testing.T) {
	_, err := parseHooks([]byte("hooks:\n  kill: redis-cli -a hunter2 SHUTDOWN\n  start: true\n bad: [\n"))
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "redis-cli -a ***") {
		t.Errorf("the error is %v", err)
	}
}
