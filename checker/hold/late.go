package hold

import (
	"cmp"
	"slices"
	"time"

	"lockbench/internal/history"
)

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
func (b *Book) latestEffect(client int32, op history.Op) time.Duration {
	asked, latest := b.time(op.Invoke), b.time(op.Return)
	since := Never
	all := b.holdingUp(client)
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
func (b *Book) holdingUp(client int32) []heldUp {
	all, ok := b.heldUp[client]
	if ok {
		return all
	}
	for _, f := range b.History.Faults {
		if !f.HoldsUp(client) {
			continue
		}
		span := heldUp{began: b.time(f.Begins), healed: Never}
		if f.Healed >= 0 {
			span.healed = b.time(f.Healed)
		}
		span.reach = Later(Later(span.healed, span.healed-span.began), resent)
		if len(all) > 0 {
			span.reach = max(span.reach, all[len(all)-1].reach)
		}
		all = append(all, span)
	}
	b.heldUp[client] = all
	return all
}
