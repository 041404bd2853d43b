package workloads

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// Clients come together, once in two leases, also if there is no lease.
func TestVisits(t *testing.T) {
	for _, test := range []struct {
		ttl, apart time.Duration
	}{{2 * time.Second, 4 * time.Second}, {0, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, history.Header{Lock: "fake", Model: []string{"mutex"}, Claims: locks.Claims{Bounded: true}})
			ctx, cancel := context.WithTimeout(t.Context(), 5*test.apart+test.apart/2)
			defer cancel()
			p := Params{Keys: []string{"a"}, TTL: test.ttl, Wait: time.Second, HoldMin: 30 * time.Millisecond, HoldMax: 60 * time.Millisecond}
			visits.New(p).Run(ctx, b.client)
			var came []time.Duration
			h := b.read()
			for i := range h.Events {
				if e := &h.Events[i]; e.Type == history.Invoke && e.F == history.Acquire {
					came = append(came, e.Time)
				}
			}
			if len(came) != 6 {
				t.Fatalf("ttl %s: came at %s, want 6 times", test.ttl, came)
			}
			for i, at := range came {
				if late := at - time.Duration(i)*test.apart; late < 0 || late > ThinkMax {
					t.Errorf("ttl %s: came at %s, want up to %s after %d times %s", test.ttl, at, ThinkMax, i, test.apart)
				}
			}
		})
	}
}
