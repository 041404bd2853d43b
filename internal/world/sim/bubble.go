//go:build !wasip1

package sim

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// entering keeps bubbles of one process apart.
var entering sync.Mutex

// bubble calls f in virtual time and returns when f and every goroutine that it
// started have ended. This file and bubble_wasip1.go are the only ones that know how a
// bubble is entered.
//
// synctest.Test wants a test, and its documentation promises nothing for one that
// no test runner made. It works as long as nobody fails or skips that test, which
// is why f never sees it, and why a panic of f is caught inside. TestBubble fails
// loudly if a new release of Go changes that.
func bubble(f func() error) (err error) {
	entering.Lock()
	defer entering.Unlock()
	defer func() {
		// A deadlock of the whole bubble, or goroutines that are left when f is done.
		if p := recover(); p != nil {
			err = fmt.Errorf("the simulation came to a stop: %s", firstLines(fmt.Sprint(p), 40))
		}
	}()
	synctest.Test(new(testing.T), func(*testing.T) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the simulated run panicked: %v\n%s", p, debug.Stack())
			}
		}()
		err = f()
	})
	return err
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
