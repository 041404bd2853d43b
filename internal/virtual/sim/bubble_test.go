package sim

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockbench/internal/testing/worldtest"
)

// bubble depends on behaviour of the runtime that Go does not promise. If this test fails with a new release of Go, check
// bubble.go.
func TestBubble(t *testing.T) {
	real := time.Now()
	err := bubble(func() error {
		began := time.Now()
		time.Sleep(1000 * time.Hour)
		if d := time.Since(began); d != 1000*time.Hour {
			return fmt.Errorf("slept %v", d)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if d := time.Since(real); d > time.Minute {
		t.Errorf("a thousand hours took %v of real time", d)
	}
	if err := bubble(func() error { panic("by intent") }); err == nil || !strings.Contains(err.Error(), "by intent") {
		t.Errorf("a panic came out as %v", err)
	}
	if err := bubble(func() error { return errors.New("by intent") }); err == nil || err.Error() != "by intent" {
		t.Errorf("an error came out as %v", err)
	}
}

// A goroutine that outlives f is reported as an error. The goroutine remains, so this test runs in a separate process.
func TestBubbleTellsLeaks(t *testing.T) {
	worldtest.Alone(t, func() {
		err := bubble(func() error {
			go func() { select {} }()
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "blocked goroutines remain") {
			t.Errorf("a leak came out as %v", err)
		}
	})
}

func TestClassesNeverMeet(t *testing.T) {
	seen := map[class]string{}
	for _, actor := range []string{"roles", "trial", "cut", "keeps", "commands"} {
		if other, used := seen[classOf(actor)]; used {
			t.Errorf("%s and %s have one class", actor, other)
		}
		seen[classOf(actor)] = actor
	}
	for id := range 200 {
		for _, actor := range []string{fmt.Sprintf("client-%d", id), fmt.Sprintf("step-%d", id)} {
			if other, used := seen[classOf(actor)]; used {
				t.Errorf("%s and %s have one class", actor, other)
			}
			seen[classOf(actor)] = actor
		}
	}
	at := time.Unix(0, 1_234_567)
	for _, c := range []class{0, 1, 34_567, 34_568, 99_999} {
		next := c.next(at)
		if next.Before(at) || next.Sub(at) >= grain || class(next.UnixNano()%int64(grain)) != c {
			t.Errorf("class %d after %d is %d", c, at.UnixNano(), next.UnixNano())
		}
	}
	if time.Millisecond%grain != 0 {
		t.Error("a goroutine that sleeps for whole milliseconds wakes in another actor's instant")
	}
}
