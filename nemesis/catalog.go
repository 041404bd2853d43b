package nemesis

import (
	"slices"
	"time"

	"lockbench/workloads"
)

// Entry is a kind of fault that a scenario may name.
type Entry struct {
	Name  string // the key of a step
	About string // one line
	Link  bool   // its value is a link; else a role
	Keys  []Key  // its own keys
	New   func(Step) (Fault, error)
	// Instant reports that there is nothing to heal.
	Instant bool
	// Promotes reports that a leader change during the fault was ordered by it.
	Promotes bool
	// Try is the usual form of the fault: tests inject it, and it is an example in lockbench list faults.
	Try Step
	// Also are other forms, with another trigger or target.
	Also []Step
	// Draw are the steps that `faults: random` draws. A step that does not apply to a lock's servers
	// is n/a. A step on a client waits until there is one.
	Draw []Step
	// DrawClocks are drawn as well if clients have their own clocks.
	DrawClocks []Step
}

// All lists all faults.
func All() []Entry {
	second := &Range{time.Second, time.Second}
	return slices.Concat([]Entry{
		{
			Name: "kill", About: "end nodes at once, restart them when it heals (data: kept or lost); or kill a client",
			Keys: killKeys, New: newKill,
			Try:  Step{Target: "master", For: second},
			Also: []Step{{Target: "master", For: second, Options: map[string]string{"data": "lost"}}},
			Draw: []Step{
				{Target: "master"},
				{Target: "a replica"},
				{Target: "minority"},
				{Target: "holder", When: workloads.Acquired},
			},
		},
		{
			Name: "pause", About: "stop clients or nodes, timers and all (SIGSTOP)", New: newPause,
			Try:  Step{Target: "holder", When: workloads.Acquired, For: second},
			Also: []Step{{Target: "master", For: second}},
			Draw: []Step{
				{Target: "master"},
				{Target: "minority"},
				{Target: "holder", When: workloads.Checked},
			},
		},
		{
			Name: "isolate", About: "cut a node off from all others, but for those on its side",
			Keys: isolateKeys, New: newIsolate,
			Try: Step{Target: "master", For: second},
			Draw: []Step{
				{Target: "master", Options: map[string]string{"with": "half the clients"}},
				{Target: "a replica"},
				{Target: "minority", Options: map[string]string{"with": "half the clients", "way": "in"}},
			},
		},
		{
			Name: "cut", About: "hold all that travels on links, one way (->) or both (<->)", Link: true, New: newCut,
			Try: Step{Target: "clients -> master", For: second},
			Draw: []Step{
				{Target: "holder -> master", When: workloads.Releasing},
				{Target: "master -> clients"},
			},
		},
		{
			Name: "ring", About: "let each of at least four nodes see its two neighbours alone",
			Keys: ringKeys, New: newRing,
			Try:  Step{Target: "nodes", For: second, Options: map[string]string{"with": "clients"}},
			Draw: []Step{{Target: "nodes", Options: map[string]string{"with": "clients"}}},
		},
		{
			Name: "lag", About: "delay all that travels on links", Link: true,
			Keys: lagKeys, New: newLag,
			Try: Step{Target: "master -> clients", For: second, Options: map[string]string{"by": "500ms"}},
			Draw: []Step{
				{Target: "master -> replicas", Options: map[string]string{"by": "5s"}},
				{Target: "nodes -> clients", Options: map[string]string{"by": "200ms", "jitter": "100ms"}},
			},
		},
		{
			Name: "bandwidth", About: "let only so many bytes a second through links", Link: true,
			Keys: bandwidthKeys, New: newBandwidth,
			Try:  Step{Target: "master -> clients", For: second, Options: map[string]string{"rate": "2kB/s"}},
			Draw: []Step{{Target: "nodes -> clients", Options: map[string]string{"rate": "2kB/s"}}},
		},
		{
			Name: "drop-replies", About: "drop the replies of nodes: requests are done, and clients never learn it", Link: true, New: newDropReplies,
			Try:  Step{Target: "master -> clients", For: second},
			Draw: []Step{{Target: "master -> clients"}},
		},
		{
			Name: "lose-reply", About: "lose the answer to one request of the holder: done, and never heard of",
			Keys: loseReplyKeys, New: newLoseReply,
			Instant: true,
			Try:     Step{Target: "holder", When: workloads.Acquiring, Request: 1},
			Also: []Step{
				{Target: "holder", When: workloads.Acquiring, Request: 1, Options: map[string]string{"then": "silence"}},
				{Target: "holder", When: workloads.Releasing, Request: 1},
			},
		},
		{
			Name: "hold-request", About: "delay one request of the holder until its client waits for it no longer", New: newHoldRequest,
			Try:  Step{Target: "holder", When: workloads.Releasing, Request: 1, For: second},
			Also: []Step{{Target: "holder", When: workloads.Acquiring, Request: 1, For: second}},
		},
		{
			Name: "reset", About: "reset connections on links and drop the data in flight", Link: true, New: newReset,
			Instant: true,
			Try:     Step{Target: "clients <-> master"},
			// Clients of some services choose their server, and may not use the leader.
			Draw: []Step{{Target: "clients <-> nodes"}},
		},
		{
			Name: "clock", About: "shift the wall clocks of servers or clients, at once or little by little",
			Keys: clockKeys, New: newClock,
			Try:  Step{Target: "master", For: second, Options: map[string]string{"by": "5s"}},
			Also: []Step{{Target: "half the clients", For: second, Options: map[string]string{"by": "5s"}}},
			DrawClocks: []Step{
				{Target: "half the clients", Options: map[string]string{"by": "10s"}},
				{Target: "half the clients", Options: map[string]string{"by": "-10s"}},
				{Target: "half the clients", Options: map[string]string{"drift": "200%"}},
				{Target: "holder", When: workloads.Acquired, Options: map[string]string{"drift": "-80%"}},
			},
		},
	}, orders(), []Entry{
		{
			Name: "promote", About: "make a replica the master by hand", New: newPromote, Promotes: true,
			Instant: true,
			Try:     Step{Target: "a replica"},
			Draw:    []Step{{Target: "a replica"}},
		},
	})
}

// The keys of faults. Keys of one name may differ between faults.
var (
	killKeys = []Key{
		{Name: "data", Takes: "kept|lost", Default: "kept", About: "whether a server that is started again still has what it had on disk"},
		{Name: "early", Takes: "true|false", Default: "false", About: "true: an independent master may be back without its data before its leases have ended"},
	}
	isolateKeys = []Key{
		{Name: "with", Takes: TakesRole, About: "those who stay connected to it, such as half the clients"},
		{Name: "way", Takes: "both|in|out", Default: "both", About: "which direction is cut: what it hears (in), what it says (out), or both"},
	}
	ringKeys = []Key{{Name: "with", Takes: TakesRole, About: "clients at one node each"}}
	lagKeys  = []Key{
		{Name: "by", Takes: TakesDuration, Needed: true, About: "how late everything arrives"},
		{Name: "jitter", Takes: TakesDuration, About: "give or take so much, drawn for each message"},
	}
	bandwidthKeys = []Key{{Name: "rate", Takes: "bytes a second", Needed: true, About: "how much passes, from 1kB/s to 10MB/s"}}
	clockKeys     = []Key{
		{Name: "by", Takes: "duration or minus a duration", About: "how far the clock jumps, ahead (5s) or back (-5s)"},
		{Name: "drift", Takes: "percent", About: "what the clock gains (10%) or loses (-10%) in every second"},
	}
	loseReplyKeys = []Key{{Name: "then", Takes: "reset|silence", Default: "reset", About: "what becomes of the connection: it ends, or is silent until the client gives it up"}}
)

// Find returns the entry called name.
func Find(name string) (Entry, bool) {
	for _, e := range All() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}
