package history

import "time"

// Facts are what an event of a probe says: marks of the run, and observations of servers or of the machine. A line has
// them in one object; a fact is there if one of its fields is:
//
//	Episode    {"episode":2}
//	Quiet      {"quiet":"begins"}, {"quiet":"ends"}
//	Promoted   {"master":"redis-2","ordered":false}
//	ClockStep  {"clock_step_ns":2000000}
//	Kept       {"node":"redis-1","session":"1.7","ttl":3000000000}
//	Left       {"ending":["b"],"left":["a","b"]}
//	Queued     {"queued":["1.7"]}
//	Sent       {"client":4,"commands":11}
//	Warned     {"warning":"client 1: it writes on its standard output"}
//	Noted      {"notes":["client 1: it did not answer and was killed"]}
type Facts struct {
	*Sent
	*ClockStep
	*Left
	*Episode
	*Promoted
	*Kept
	*Queued
	*Warned
	*Noted
	Quiet Quiet `json:"quiet,omitempty"` // begins or ends: the recovery period
}

// Fact is one of the types below.
type Fact interface{ addTo(*Facts) }

// Episode says that an episode begins.
type Episode struct {
	Number int `json:"episode"` // the number of the episode that begins
}

// Quiet says that a recovery period begins or ends. In it every fault is undone, and every
// lock must be granted again.
type Quiet string

// The values of Quiet. Others are ignored.
const (
	QuietBegins Quiet = "begins"
	QuietEnds   Quiet = "ends"
)

// Promoted says that a node became leader.
type Promoted struct {
	Node    string `json:"master"`  // the server that became the leader; empty: there is no leader
	Ordered bool   `json:"ordered"` // a fault of the plan had ordered it
}

// ClockStep says that the machine's wall clock moved against its monotonic one.
type ClockStep struct {
	By time.Duration `json:"clock_step_ns"` // how far the machine's wall clock moved
}

// Kept says how much longer a server keeps the lock of a session.
type Kept struct {
	Node    string         `json:"node"`    // the server that keeps the lock of session
	Session string         `json:"session"` // the session
	TTL     *time.Duration `json:"ttl"`     // how much longer the server keeps it
}

// Left lists the locks that servers still keep after every client is gone. Without names, there are none.
type Left struct {
	Ending []string `json:"ending"` // the locks in left that will expire
	Names  []string `json:"left"`   // locks that servers keep for longer than any lease
}

// Queued says that sessions were seen in the lock's queue.
type Queued struct {
	Sessions []string `json:"queued"` // sessions that stand in the lock's queue
}

// Sent says how many commands a client has sent so far.
type Sent struct {
	Client   int32 `json:"client"`   // the client that sent commands
	Commands int   `json:"commands"` // how many commands it has sent so far
}

// Warned says that a client made a mistake that the lock's author should know at once.
type Warned struct {
	Warning string `json:"warning"` // the first mistake of a client that is no operation
}

// Noted lists, at the end, the mistakes of clients that no operation shows.
type Noted struct {
	Notes []string `json:"notes"` // one line for each kind of mistake, with an example
}

func (f Episode) addTo(all *Facts)   { all.Episode = &f }
func (f Quiet) addTo(all *Facts)     { all.Quiet = f }
func (f Promoted) addTo(all *Facts)  { all.Promoted = &f }
func (f ClockStep) addTo(all *Facts) { all.ClockStep = &f }
func (f Kept) addTo(all *Facts)      { all.Kept = &f }
func (f Left) addTo(all *Facts)      { all.Left = &f }
func (f Queued) addTo(all *Facts)    { all.Queued = &f }
func (f Sent) addTo(all *Facts)      { all.Sent = &f }
func (f Warned) addTo(all *Facts)    { all.Warned = &f }
func (f Noted) addTo(all *Facts)     { all.Noted = &f }

// Probed returns the event that records facts.
func Probed(facts ...Fact) Event {
	e := Event{Process: Probe, Type: Info, F: FProbe, Facts: new(Facts)}
	for _, f := range facts {
		f.addTo(e.Facts)
	}
	return e
}
