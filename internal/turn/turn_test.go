package turn

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurn has one owner, one waiter that gives up, and one that gets the turn when it is free. Virtual time advances
// meanwhile.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := New()
		if err := turn.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() { got <- turn.Take(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := turn.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("two have one turn, or the second one gave up with %v", err)
		}
		turn.Give()
		if err := <-got; err != nil {
			t.Errorf("the turn was free, but Take failed: %v", err)
		}
	})
}
