package lockbench_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"lockbench"
	"lockbench/locks"
)

// nowhere is a lock whose url is wrong.
type nowhere struct{}

func (nowhere) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	return nil, errors.New("dial tcp: my url is wrong")
}

func (nowhere) Close() error { return nil }

// A lock that never reaches its servers is told so, in its own words, and is not kept
// waiting for faults.
func TestSaysWhyNothingWasGranted(t *testing.T) {
	res, err := lockbench.Run(t.Context(), lockbench.Options{
		Scenario: "pause-client", World: "sim", Seed: 1,
		Lock: func(context.Context, locks.Client) (locks.Locker, error) { return nowhere{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != lockbench.Unknown || !strings.Contains(res.Why, "my url is wrong") || strings.Contains(res.Why, "plan") {
		t.Errorf("got %s, because %q; want unknown, because of the url alone", res.Verdict, res.Why)
	}
}
