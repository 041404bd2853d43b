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

// An error about a lock that never reaches its servers contains the lock's own error, without a long wait.
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
