//go:build linux

package process

import (
	"os/exec"
	"testing"
	"time"
)

// What stands still dies with us, whose end closes the guard's pipe, and not if the guard is dismissed.
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
			g.pipe.Close()
			<-g.done
		} else {
			g.dismiss()
		}
		until := time.Now().Add(20 * time.Second)
		for dies && Alive(p.PID()) {
			if time.Now().After(until) {
				t.Fatal("nobody is there any more, and it stands still")
			}
			time.Sleep(time.Millisecond)
		}
		if !dies && !Alive(p.PID()) {
			t.Error("the guard was dismissed, and it is dead")
		}
	}
}
