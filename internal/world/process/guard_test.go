//go:build linux

package process

import (
	"os/exec"
	"testing"
	"time"
)

// Stopped processes die with lockbench, whose end closes the pipe of their guard; a dismissed guard leaves them alone.
func TestGuard(t *testing.T) {
	for _, dies := range []bool{true, false} {
		p, err := Start(exec.Command("sleep", "1000"))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Kill(t.Context())
		if err := p.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		g, err := guardAll(map[int]bool{p.PID(): true})
		if err != nil {
			t.Fatal(err)
		}
		if dies {
			if err := g.Work(); err != nil {
				t.Error(err)
			}
		} else {
			g.Dismiss()
		}
		until := time.Now().Add(20 * time.Second)
		for dies && Alive(p.PID()) {
			if time.Now().After(until) {
				t.Fatal("the process still exists, and it is stopped")
			}
			time.Sleep(time.Millisecond)
		}
		if !dies && !Alive(p.PID()) {
			t.Error("the guard was dismissed, and it is dead")
		}
	}
}
