package workloads

// watchdog holds longer than the lease lasts. Its requests have no ttl, so the lock must renew its own lease during the
// work:
//
//	acquire ── read v ──────────────── hold, checking now and then ─── write v+1 ── release
//	lease   ├────────┤
//	             ├────────┤  renewed
//	                  ├────────┤                    ...
//
// The scenario makes the lock's lease short (redisson/watchdog=900ms) and the hold longer.
var watchdog = Entry{
	Name:  "watchdog",
	About: "each client works for longer than the lock's lease, which the lock must renew",
	Needs: []Need{needsRenewal}, Wants: wantsNoTTL,
	New: func(p Params) Workload {
		p.TTL = 0
		return counting{Params: p}
	},
}
