package workloads

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/locks"
)

// atTheEdge is the history of a client that works until the end of its leases of 200 ms for two seconds, with the time between
// the last write and the end of each lease.
func atTheEdge(t *testing.T, c *conn) (h *history.History, b *bench, left []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b = newBench(t, history.Header{Lock: "fake", Model: []string{"mutex"}, Claims: locks.Claims{Bounded: true}})
		b.conn, b.client.Conn = c, c
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		p := Params{Keys: []string{"a"}, TTL: 400 * time.Millisecond, HoldMin: 30 * time.Millisecond, HoldMax: 30 * time.Millisecond}
		edge.New(p).Run(ctx, b.client)
		h = b.read()
	})
	var end, wrote time.Duration
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Type == history.OK && e.Until != nil:
			end = e.Time + *e.Until
		case e.Type == history.OK && e.F == history.Write:
			wrote = e.Time
		case e.Type == history.Invoke && e.F == history.Release:
			left = append(left, end-wrote)
		}
	}
	return h, b, left
}

// A client works until shortly before the end of its lease, also after a renewal.
func TestEdge(t *testing.T) {
	until := 200 * time.Millisecond
	for _, test := range []struct {
		what   string
		answer error // to a renewal
		most   int   // renewals that are asked for
	}{
		{"it can be renewed", nil, 20},
		{"it cannot", locks.ErrUnsupported, 1},
		{"it is lost", locks.ErrNotHeld, 20},
	} {
		t.Run(test.what, func(t *testing.T) {
			c := &conn{grant: guest.Grant{Until: &until}, answers: map[string]func(context.Context) error{}}
			if test.answer != nil {
				c.answers["renew"] = always(test.answer)
			}
			h, b, left := atTheEdge(t, c)
			if len(left) < 6 {
				t.Fatalf("%d leases, want at least 6", len(left))
			}
			atEnd := 0
			for _, d := range left[:len(left)-1] { // in the last one the run has ended
				if d == edgeMargin {
					atEnd++
				}
			}
			if all := len(left) - 1; atEnd != all && (test.answer != locks.ErrNotHeld || atEnd == 0 || atEnd == all) {
				t.Errorf("%d of %d leases were written under until %s before their end: %s", atEnd, all, edgeMargin, left)
			}
			asked := 0
			for i := range h.Events {
				if e := &h.Events[i]; e.Type == history.Invoke && e.F == history.Renew {
					asked++
				}
			}
			if asked < 1 || asked > test.most {
				t.Errorf("%d renewals, want 1 to %d", asked, test.most)
			}
			for _, told := range b.hooks.told {
				if told == "unfit: unsupported" {
					t.Error("a lock that cannot renew is called unfit")
				}
			}
		})
	}
}

// A lock that reports no end is held for one piece of work.
func TestEdgeWithoutEnd(t *testing.T) {
	h, _, _ := atTheEdge(t, &conn{answers: map[string]func(context.Context) error{}})
	grants, writes := 0, 0
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Type != history.OK:
		case e.F == history.Acquire:
			grants++
		case e.F == history.Write:
			writes++
		}
	}
	if grants < 10 || writes < grants-1 || writes > grants {
		t.Errorf("%d grants and %d writes, want one for each", grants, writes)
	}
}
