package locktest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/locks"
)

// kept is a lock with leases of a second that are renewed after a share of their length, each time with several requests.
// It is its own server and counts the requests.
type kept struct {
	share    float64
	requests int
	sent     atomic.Int64
}

func (k *kept) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	k.sent.Add(1)
	l := &keptLease{of: k, done: make(chan struct{})}
	if k.share > 0 {
		l.work.Go(l.renew)
	}
	return l, nil
}

func (k *kept) Close() error { return nil }

func (k *kept) Commands(context.Context) (int, error)  { return int(k.sent.Load()), nil }
func (k *kept) Keys(context.Context) ([]string, error) { return nil, nil }
func (k *kept) Forget(context.Context) error           { return nil }

type keptLease struct {
	of   *kept
	done chan struct{}
	work sync.WaitGroup
}

func (l *keptLease) renew() {
	tick := time.NewTicker(time.Duration(l.of.share * float64(l.Lease())))
	defer tick.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-tick.C:
		}
		for range l.of.requests {
			l.of.sent.Add(1)
			time.Sleep(30 * time.Millisecond) // the duration of a request, in virtual time
		}
	}
}

func (l *keptLease) Release(context.Context) error {
	close(l.done)
	l.work.Wait()
	return nil
}

func (l *keptLease) Lease() time.Duration { return time.Second }

// A library that renews once a lease or shortly before its end breaks the rule. The number of requests of a renewal does
// not matter.
func TestRenewalMargin(t *testing.T) {
	for name, test := range map[string]struct {
		share    float64
		requests int
		broken   bool
		asked    bool
	}{
		"three times a lease":                    {1. / 3, 1, false, true},
		"twice a lease":                          {0.5, 1, false, true},
		"after two thirds":                       {0.66, 1, false, true},
		"after 95 %":                             {0.95, 1, true, true},
		"once a lease":                           {1, 1, true, true},
		"after 95 %, in three requests":          {0.95, 3, true, true},
		"three times a lease, in three requests": {1. / 3, 3, false, true},
		"unseen":                                 {0, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &kept{share: test.share, requests: test.requests}
				var leases []*keptLease
				s := Subject{
					Card: locks.Card{Claims: locks.Claims{Renewed: true}}, Server: k, Excused: map[string]string{},
					Open: func(context.Context, int) (locks.Locker, error) { return remembering{k, &leases}, nil },
				}
				for _, rule := range Rules() {
					if rule.Name != "renewal-margin" {
						s.Excused[rule.Name] = "another test's"
					}
				}
				found := false
				for _, r := range Run(t.Context(), s) {
					if r.Rule.Name != "renewal-margin" {
						continue
					}
					found = true
					if (r.Err != nil) != test.broken || (r.NA == "") != test.asked || r.Undecided != nil {
						t.Errorf("broken %v, undecided %v, n/a %q", r.Err, r.Undecided, r.NA)
					}
				}
				if !found {
					t.Error("the rule was not run")
				}
				for _, l := range leases { // a broken rule leaves leases
					select {
					case <-l.done:
					default:
						_ = l.Release(t.Context())
					}
				}
			})
		})
	}
}

// remembering is a lock that records its leases.
type remembering struct {
	*kept
	leases *[]*keptLease
}

func (r remembering) Acquire(ctx context.Context, q locks.Request) (locks.Lease, error) {
	l, err := r.kept.Acquire(ctx, q)
	*r.leases = append(*r.leases, l.(*keptLease))
	return l, err
}
