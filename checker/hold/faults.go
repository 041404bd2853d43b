package hold

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"lockbench/internal/history"
)

// faults are the faults of a history as far as they prevented renewals or held up requests.
type faults struct {
	*timeline
	stopped map[stopped][]standstill
	heldUp  map[int32][]heldUp
}

// standstill is an interval in which a library could not renew a lease for too long.
type standstill struct {
	begins, healed int // positions; healed is -1 if the fault never healed
	began, woke    time.Duration
	struck         time.Duration // when the last of the joined faults took effect, because a renewal may have come before
	// spent is when the lease may have run out: a lease less a period after the first of the
	// joined faults, but not before the last of them began. Never if they are too short for that.
	//
	//	lease 3 s   cut ├─ 1.6 s ─┤   not held   pause ├──────      the pause is not why
	spent time.Duration
}

// stopped identifies the standstills of a client for leases of a length.
type stopped struct {
	client int32
	length time.Duration
	period time.Duration
	pauses bool // pauses of the client only; otherwise also the faults on its links and on servers
}

// standstills returns the intervals in which a client may have lost a lease: those longer than a lease minus the time between two
// renewals, because the last renewal may be that old. Faults that are closer together than two renewals are joined,
// because there may have been no renewal between them.
func (fs *faults) standstills(of stopped) []standstill {
	if all, ok := fs.stopped[of]; ok {
		return all
	}
	var all []standstill
	if of.pauses {
		for _, p := range fs.History.Pauses(of.client) {
			all = join(all, fs.standstill(p.Begins, p.Begins, p.Healed), of)
		}
	} else {
		for _, f := range fs.History.Faults {
			if f.Concerns(of.client) {
				all = join(all, fs.standstill(f.Begins, max(f.Begins, f.Bites), f.Healed), of)
			}
		}
	}
	all = slices.DeleteFunc(all, func(s standstill) bool { return s.spent == Never })
	fs.stopped[of] = all
	return all
}

func (fs *faults) standstill(begins, bites, healed int) standstill {
	s := standstill{begins: begins, healed: healed, began: fs.time(begins), woke: fs.time(fs.end()), struck: fs.time(bites), spent: Never}
	if healed >= 0 {
		s.woke = fs.time(healed)
	}
	return s
}

// join appends a standstill that began after the others.
func join(all []standstill, next standstill, of stopped) []standstill {
	n := len(all)
	if n == 0 || all[n-1].healed >= 0 && Later(all[n-1].woke, of.period) <= next.began {
		next.spend(next.began, of)
		return append(all, next)
	}
	last := &all[n-1]
	last.struck = max(last.struck, next.struck)
	if last.healed >= 0 && (next.healed < 0 || next.healed > last.healed) {
		last.healed, last.woke = next.healed, next.woke
	}
	last.spend(next.began, of)
	return all
}

// spend sets spent if the standstill is too long for a lease.
func (s *standstill) spend(latest time.Duration, of stopped) {
	if enough := of.length - of.period; s.spent == Never && s.woke-s.began > enough {
		s.spent = max(Later(s.began, enough), latest)
	}
}

// unrenewed returns the first interval in which the lease of a session may not have been renewed for too long. A pause before the
// answer was read counts if the answer may have arrived during the pause.
func (fs *faults) unrenewed(d *Hold) (standstill, bool) {
	asked, granted := d.Session.Acquire.Invoke, fs.time(d.Grant)
	all := fs.standstills(stopped{d.Session.Client, d.Lease.Length, d.Lease.Period, false})
	first := sort.Search(len(all), func(i int) bool { return all[i].healed < 0 || all[i].healed > asked })
	for _, p := range all[first:] {
		if p.healed < 0 || p.healed > d.Grant || Later(p.woke, d.Lease.Period) > granted {
			return p, true // later faults began later
		}
	}
	return standstill{}, false
}

// renewable returns the time up to which the library of a session could certainly renew the lease, unless it was released; or
// Never.
func (fs *faults) renewable(d *Hold) time.Duration {
	if fault, ok := fs.unrenewed(d); ok {
		return fault.spent
	}
	return Never
}

// disconnected returns the position from which a fault may have ended the connection of a session's client, if holds end with
// the connection. Otherwise it returns the end.
func (fs *faults) disconnected(d *Hold) int {
	if !fs.History.Header.Claims.Session {
		return fs.end()
	}
	asked := d.Session.Acquire.Invoke
	for _, f := range fs.History.Faults {
		if (f.Healed < 0 || f.Healed > asked) && f.Disconnects(d.Session.Client) {
			return max(f.Begins, asked+1)
		}
	}
	return fs.end()
}

// resent is the least time after which TCP sends unconfirmed data again. Each later wait is twice as long.
const resent = 200 * time.Millisecond

// latestEffect returns the latest time at which a request of unknown outcome can take effect. A client that gives up cannot
// withdraw a sent request, so the request arrives after the faults that hold it up. TCP doubles its waits, so the next try comes
// no later than the end of the fault plus the length of the fault. A fault that has begun by then holds up the request too.
//
//	client 1  acquire, ttl 2 s ── unknown
//	cut       ├────────────────────────────────┤
//	server                                            SET ok, for 2 s from here
//	client 2                                               refused
//
// If no fault may hold it up, the request arrived before its client gave up. ends.go treats requests that were never answered,
// which may take effect at any time.
func (fs *faults) latestEffect(client int32, op history.Op) time.Duration {
	asked, latest := fs.time(op.Invoke), fs.time(op.Return)
	since := Never
	all := fs.holdingUp(client)
	first, _ := slices.BinarySearchFunc(all, asked, func(f heldUp, at time.Duration) int { return cmp.Compare(f.reach, at) })
	for _, f := range all[first:] {
		if f.began > latest {
			break
		}
		// A request that is sent after the fault waits behind older ones of its connection.
		if arrived := Later(Later(f.healed, f.healed-min(since, f.began)), resent); arrived >= asked {
			since = min(since, f.began)
			latest = max(latest, arrived)
		}
	}
	return latest
}

// heldUp is an interval in which a fault may have held up the requests of a client. A request that was sent during it, or
// during an earlier one, takes effect by reach.
type heldUp struct{ began, healed, reach time.Duration }

// holdingUp returns these intervals of a client in the order of their begins.
func (fs *faults) holdingUp(client int32) []heldUp {
	all, ok := fs.heldUp[client]
	if ok {
		return all
	}
	for _, f := range fs.History.Faults {
		if !f.HoldsUp(client) {
			continue
		}
		span := heldUp{began: fs.time(f.Begins), healed: Never}
		if f.Healed >= 0 {
			span.healed = fs.time(f.Healed)
		}
		span.reach = Later(Later(span.healed, span.healed-span.began), resent)
		if len(all) > 0 {
			span.reach = max(span.reach, all[len(all)-1].reach)
		}
		all = append(all, span)
	}
	fs.heldUp[client] = all
	return all
}
