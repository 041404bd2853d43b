package workloads

// watchdog holds for longer than the lease lasts. It asks for none, so the lock has
// to keep its own one alive for as long as the work takes:
//
//	acquire ── read v ──────────────── hold, checking now and then ─── write v+1 ── release
//	lease   ├────────┤
//	            ├────────┤  renewed
//	                ├────────┤                    ...
//
// The scenario makes the lock's lease short (redisson/watchdog=900ms) and the hold
// longer than that.
var watchdog = Entry{
	Name:  "watchdog",
	About: "each client works for longer than the lock's lease, which renewal must carry",
	Needs: []Need{needsRenewal}, Wants: wantsNoTTL,
	New: func(p Params) Workload {
		p.TTL = 0
		return counting{Params: p}
	},
}
