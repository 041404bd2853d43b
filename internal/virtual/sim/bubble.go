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

// entering separates the bubbles of one process.
var entering sync.Mutex

// bubble calls f in virtual time and returns when f and all goroutines that it started have ended.
// Only this file and bubble_wasip1.go know how a bubble is entered.
//
// synctest.Test needs a test, and its documentation covers only tests made by the test runner.
// Another one works as long as it never fails or skips, so f never sees it, and a panic of f is
// recovered inside. TestBubble fails if a new release of Go changes that.
func bubble(f func() error) (err error) {
	entering.Lock()
	defer entering.Unlock()
	defer func() {
		// A deadlock of the whole bubble, or goroutines that outlive f.
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
