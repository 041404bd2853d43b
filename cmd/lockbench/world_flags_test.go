package main

import (
	"os"
	"testing"

	"lockbench/internal/run"
)

// TestSecretsLeaveTheEnvironment: guests and hooks inherit neither passwords nor the names of their files, also in worlds
// that do not use them.
func TestSecretsLeaveTheEnvironment(t *testing.T) {
	for _, f := range []worldFlags{{world: "local"}, {world: "auto"}, {world: "external"}} {
		names := []string{"LOCKBENCH_REDIS_PASSWORD", "LOCKBENCH_SENTINEL_PASSWORD_FILE", "LOCKBENCH_POSTGRES_PASSWORD"}
		for _, name := range names {
			t.Setenv(name, "hunter2")
		}
		_ = f.reach(&run.WorldOptions{}) // wrong usage, too
		for _, name := range names {
			if text, ok := os.LookupEnv(name); ok {
				t.Errorf("world %s: %s is still %s", f.world, name, text)
			}
		}
	}
}
