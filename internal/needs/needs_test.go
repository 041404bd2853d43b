package needs

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
)

// outcome records how a test ended.
type outcome struct {
	testing.TB
	ended string
}

func (o *outcome) Helper()                        {}
func (o *outcome) Skip(args ...any)               { o.end("skipped: " + fmt.Sprint(args...)) }
func (o *outcome) Fatalf(format string, a ...any) { o.end("failed: " + fmt.Sprintf(format, a...)) }

func (o *outcome) end(how string) {
	o.ended = how
	runtime.Goexit()
}

func TestOrSkip(t *testing.T) {
	missing := errors.New("no redis-server")
	for _, c := range []struct {
		require string
		err     error
		want    string
	}{
		{"", nil, "ran"},
		{"local", nil, "ran"},
		{"", missing, "skipped: no redis-server"},
		{"local", missing, "failed: LOCKBENCH_REQUIRE lists local: no redis-server"},
		{"browser,local", missing, "failed: LOCKBENCH_REQUIRE lists local: no redis-server"},
		{"locals,browser", missing, "skipped: no redis-server"},
	} {
		t.Setenv("LOCKBENCH_REQUIRE", c.require)
		o := &outcome{TB: t}
		done := make(chan bool)
		go func() {
			defer close(done)
			OrSkip(o, "local", c.err)
			o.ended = "ran"
		}()
		<-done
		if o.ended != c.want {
			t.Errorf("LOCKBENCH_REQUIRE=%s, error %v: %s, want %s", c.require, c.err, o.ended, c.want)
		}
	}
}
