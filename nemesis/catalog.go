package nemesis

import "time"

// Entry is one kind of fault that a scenario may name.
type Entry struct {
	Name    string // the key of a step
	About   string
	Link    bool     // its value is a link; else a role
	Options []string // its own keys
	// RoleOptions are those of them whose value is a role.
	RoleOptions []string
	New         func(Step) (Fault, error)
	// Try is what `lockbench try` does where it is told nothing else.
	Try Step
}

// All are the faults that there are.
func All() []Entry {
	second := &Range{time.Second, time.Second}
	return []Entry{
		{
			Name: "kill", About: "end nodes at once, restart them when it heals (data: kept or lost); or kill a client",
			Options: []string{"data", "early"}, New: newKill,
			Try: Step{Target: "master", For: second},
		},
		{
			Name: "pause", About: "stop clients or nodes, timers and all (SIGSTOP)", New: newPause,
			Try: Step{Target: "holder", When: Acquired, For: second},
		},
		{
			Name: "isolate", About: "cut a node off, with: those on its side; way: both, in or out",
			Options: []string{"with", "way"}, RoleOptions: []string{"with"}, New: newIsolate,
			Try: Step{Target: "master", For: second},
		},
		{
			Name: "cut", About: "hold all that travels on links, one way (->) or both (<->)", Link: true, New: newCut,
			Try: Step{Target: "clients -> master", For: second},
		},
		{
			Name: "ring", About: "let each of at least four nodes see its two neighbours alone, with: clients that stand beside one each",
			Options: []string{"with"}, RoleOptions: []string{"with"}, New: newRing,
			Try: Step{Target: "nodes", For: second, Options: map[string]string{"with": "clients"}},
		},
		{
			Name: "lag", About: "delay all that travels on links, by: a duration, jitter: give or take as much", Link: true,
			Options: []string{"by", "jitter"}, New: newLag,
			Try: Step{Target: "master -> clients", For: second, Options: map[string]string{"by": "500ms"}},
		},
		{
			Name: "bandwidth", About: "let only so many bytes a second through links, rate: as 5kB/s", Link: true,
			Options: []string{"rate"}, New: newBandwidth,
			Try: Step{Target: "master -> clients", For: second, Options: map[string]string{"rate": "2kB/s"}},
		},
		{
			Name: "drop-replies", About: "lose what nodes answer: done, and never heard of", Link: true, New: newDropReplies,
			Try: Step{Target: "master -> clients", For: second},
		},
		{
			Name: "reset", About: "end connections on links, with what is on its way", Link: true, New: newReset,
			Try: Step{Target: "clients <-> master"},
		},
		{
			Name: "clock", About: "shift the wall clocks of servers or clients, by: a jump ahead or back, drift: a share gained or lost",
			Options: []string{"by", "drift"}, New: newClock,
			Try: Step{Target: "master", For: second, Options: map[string]string{"by": "5s"}},
		},
		{
			Name: "busy", About: "keep servers from serving anybody, by: a duration (DEBUG SLEEP)",
			Options: []string{"by"}, New: newBusy,
			Try: Step{Target: "master", Options: map[string]string{"by": "2s"}},
		},
		{
			Name: "flush", About: "make servers forget everything (FLUSHALL)", New: newFlush,
			Try: Step{Target: "master"},
		},
		{
			Name: "evict", About: "make servers throw away keys that have an end, as for want of memory", New: newEvict,
			Try: Step{Target: "master"},
		},
		{
			Name: "poison", About: "put a value of another type in the place of the holder's key", New: newPoison,
			Try: Step{Target: "master", When: Acquired, For: second},
		},
		{
			Name: "drop-subscribers", About: "end the connections of those who listen for messages", New: newDropSubscribers,
			Try: Step{Target: "master"},
		},
		{
			Name: "promote", About: "make a replica the master by hand", New: newPromote,
			Try: Step{Target: "a replica"},
		},
	}
}

// Find is the entry called name.
func Find(name string) (Entry, bool) {
	for _, e := range All() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}
