package workloads

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/locks"
)

// byHand lets one client renew leases of 200 ms for some time, and returns its history.
func byHand(t *testing.T, c *conn, d time.Duration) (h *history.History, b *bench) {
	t.Helper()
	until := 200 * time.Millisecond
	c.grant = guest.Grant{Until: &until}
	if c.answers == nil {
		c.answers = map[string]func(context.Context) error{}
	}
	synctest.Test(t, func(t *testing.T) {
		b = newBench(t, history.Header{Lock: "fake", Model: []string{"mutex"}, Claims: locks.Claims{Bounded: true}})
		b.conn, b.client.Conn = c, c
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		p := Params{Keys: []string{"a"}, TTL: until, HoldMin: 10 * time.Millisecond, HoldMax: 10 * time.Millisecond}
		renewals.New(p).Run(ctx, b.client)
		h = b.read()
	})
	return h, b
}

// Most renewals come within the lease and some after its end. The last piece of work of a held follows a renewal, and
// each renewal follows the event Checked.
func TestRenewals(t *testing.T) {
	h, b := byHand(t, &conn{}, 10*time.Second)
	var end time.Duration
	early, late, writes := 0, 0, 0
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Type == history.Invoke && e.F == history.Renew && e.Time < end:
			early++
		case e.Type == history.Invoke && e.F == history.Renew:
			late++
			if e.Time-end < 10*time.Millisecond || e.Time-end > 200*time.Millisecond {
				t.Errorf("a renewal comes %s after the lease, want 10 ms to 200 ms", e.Time-end)
			}
		case e.Type == history.OK && e.Until != nil:
			end = e.Time + *e.Until
		case e.Type == history.OK && e.F == history.Write:
			writes++
		}
	}
	if early < 20 || late < 10 {
		t.Errorf("%d renewals within the lease and %d past it, want 20 and 10 at least", early, late)
	}
	if holds := len(h.Sessions); writes < early+late+holds-1 {
		t.Errorf("%d writes in %d holds with %d renewals, want one for each", writes, holds, early+late)
	}
	checked := 0
	for _, told := range b.hooks.told {
		if strings.HasPrefix(told, string(Checked)) {
			checked++
		}
	}
	if want := writes + early + late; checked < want {
		t.Errorf("the moment Checked came %d times, want %d: before each write and each renewal", checked, want)
	}
}

// A client whose renewal did not succeed stops working and releases the lock.
func TestRenewalsThatFail(t *testing.T) {
	for _, test := range []struct {
		what   string
		answer error
		most   int // renewals that are asked for; 0: any number
	}{
		{"it is lost", locks.ErrNotHeld, 0},
		{"no answer", errors.New("no answer"), 0},
		{"the lock cannot", locks.ErrUnsupported, 1},
	} {
		t.Run(test.what, func(t *testing.T) {
			h, b := byHand(t, &conn{answers: map[string]func(context.Context) error{"renew": always(test.answer)}}, 2*time.Second)
			renewed := map[string]bool{}
			for i := range h.Events {
				e := &h.Events[i]
				switch {
				case e.Type == history.Invoke && e.F == history.Renew:
					renewed[e.Session] = true
				case e.Type == history.Invoke && renewed[e.Session] && e.F != history.Release:
					t.Errorf("%s of session %s after its renewal failed", e.F, e.Session)
				}
			}
			if len(renewed) == 0 || test.most > 0 && len(renewed) > test.most {
				t.Errorf("%d renewals, want at least one and at most %d (0: any number)", len(renewed), test.most)
			}
			for _, s := range h.Sessions {
				if n := len(s.Ops); n == 0 || s.Ops[n-1].F != history.Release {
					t.Errorf("session %s was not given back", s.Name)
				}
			}
			for _, told := range b.hooks.told {
				if told == "unfit: unsupported" {
					t.Error("a lock that cannot renew is called unfit")
				}
			}
		})
	}
}
