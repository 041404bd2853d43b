package nemesis

import "time"

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
	// DrawPower are drawn as well if losses of power are.
	DrawPower []Step
}

// oneSecond is the usual duration of the forms that tests inject.
var oneSecond = &Length{From: time.Second, To: time.Second}

// All lists all faults.
func All() []Entry {
	return []Entry{
		killEntry,
		pauseEntry,
		isolateEntry,
		cutEntry,
		ringEntry,
		lagEntry,
		bandwidthEntry,
		dropRepliesEntry,
		loseReplyEntry,
		holdRequestEntry,
		resetEntry,
		clockEntry,
		busyEntry,
		flushEntry,
		evictEntry,
		poisonEntry,
		dropSubscribersEntry,
		promoteEntry,
	}
}

// Find returns the entry called name.
func Find(name string) (Entry, bool) {
	for _, e := range All() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}
