package hold

import (
	"time"

	"lockbench/internal/history"
)

// resent is how long TCP waits at least before it sends unconfirmed data again. It
// waits twice as long each time after that.
const resent = 200 * time.Millisecond

// latestEffect is when a request of unknown outcome took effect, at the latest. Its client
// has given up, but nothing takes a sent request back: it arrives when the network is whole
// again, or when the server goes on. Its connection may have tried since the fault began,
// and waits twice as long each time; so the next try comes no later after the fault than
// that lasted. If another fault has begun by then, it holds up this one as well.
//
//	client 1  acquire, ttl 2 s ── unknown
//	cut       ├────────────────────────────────┤
//	server                                            SET ok, for 2 s from here
//	client 2                                               refused
//
// Without a fault that may hold it up it arrived before its client gave up. ends.go has the
// request that was never answered, which may take effect at any time.
func (b *Book) latestEffect(client int32, op history.Op) time.Duration {
	asked, latest := b.time(op.Invoke), b.time(op.Return)
	since := Never
	for _, f := range b.holdingUp(client) {
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

// heldUp is while a fault may have kept the requests of a client back.
type heldUp struct{ began, healed time.Duration }

// holdingUp are those faults of a client, in the order in which they began.
func (b *Book) holdingUp(client int32) []heldUp {
	all, ok := b.heldUp[client]
	if ok {
		return all
	}
	for _, f := range b.History.Faults {
		if !f.HoldsUp(client) {
			continue
		}
		span := heldUp{b.time(f.Begins), Never}
		if f.Healed >= 0 {
			span.healed = b.time(f.Healed)
		}
		all = append(all, span)
	}
	b.heldUp[client] = all
	return all
}
