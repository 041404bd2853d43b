package history

import "slices"

// Fault is a fault as it happened, by positions in the history; -1 where that was
// not seen.
type Fault struct {
	Name string
	Step int
	// Begins is the intention, Bites when a probe saw that it works, Heals the intention
	// to undo it, Healed when a probe saw that it is gone.
	Begins, Bites, Heals, Healed int
	Fails                        int    // could not be done, or not be undone
	Why                          string // it failed
	Targets                      []string
	Text                         string // what was struck, in the nemesis's words
}

// Began is false of a fault of which the history says only that it could not be done.
func (f *Fault) Began() bool { return f.Bites >= 0 || f.Heals >= 0 || f.Fails != f.Begins }

// Pauses says whether it stops processes and lets them go on.
func (f *Fault) Pauses() bool { return f.Name == faultPause }

var (
	// leaveConnections are the faults that change clocks and data, and close no connection.
	leaveConnections = []string{"clock", "flush", "evict", "poison"}
	// onLinks are the faults on links, which name both ends: a client that is not named
	// has its own.
	onLinks = []string{"cut", "lag", "bandwidth", "drop-replies", "reset"}
	// endConnections are the faults on servers that end the connections of all their clients.
	endConnections = []string{"kill", "drop-subscribers", "promote"}
	// holdUpNothing are, of those that may close a connection, the faults that keep nothing
	// back: what was sent to a server has arrived, or has gone with its connection.
	holdUpNothing = []string{"kill", "reset", "drop-replies", "lose-reply", "drop-subscribers", "promote"}
)

// Concerns reports whether the fault touches a client, its links, or servers that it may need. A
// fault on links that names other clients leaves this client's links alone, and a fault that could
// not be done touches nothing.
func (f *Fault) Concerns(client int32) bool {
	if !f.Began() {
		return false
	}
	named, servers := false, len(f.Targets) == 0
	for _, name := range f.Targets {
		number, ok := ParseParty(name).Client()
		if ok && number == client {
			return true
		}
		named, servers = named || ok, servers || !ok
	}
	return servers && !(named && slices.Contains(onLinks, f.Name))
}

// Disconnects reports whether the fault may close the connection of a client to a server, at once or
// after a timeout. Every fault that concerns the client may, if nothing else is known of it.
func (f *Fault) Disconnects(client int32) bool {
	return !slices.Contains(leaveConnections, f.Name) && f.Concerns(client)
}

// Reconnects reports whether the client must connect again after the fault: the fault names the client, or
// it ended the connections of a server with all its clients.
func (f *Fault) Reconnects(client int32) bool {
	return f.Disconnects(client) && (f.Strikes(client) || slices.Contains(endConnections, f.Name))
}

// HoldsUp says whether a request that a client sends meanwhile may arrive when it is over.
func (f *Fault) HoldsUp(client int32) bool {
	return f.Disconnects(client) && !slices.Contains(holdUpNothing, f.Name)
}

// Strikes tells whether a client is among the targets.
func (f *Fault) Strikes(client int32) bool {
	return slices.ContainsFunc(f.Targets, func(name string) bool {
		number, ok := ParseParty(name).Client()
		return ok && number == client
	})
}

// Faults are those of the history, in the order in which they began.
func (h *History) Faults() []Fault { return h.told.faults }

func faults(h *History) []Fault {
	type id struct {
		step int
		name string
	}
	var all []Fault
	open := map[id]int{} // index in all
	for _, pos := range h.told.nemesis {
		e := &h.Events[pos]
		if e.Extra == nil {
			continue
		}
		x := e.Extra
		i, isOpen := open[id{x.Step, e.F}]
		if !isOpen {
			if x.Phase != Begins && x.Phase != Bites && x.Phase != Fails {
				continue
			}
			i = len(all)
			open[id{x.Step, e.F}] = i
			all = append(all, Fault{Name: e.F, Step: x.Step, Begins: pos, Bites: -1, Heals: -1, Healed: -1, Fails: -1})
		}
		f := &all[i]
		switch x.Phase {
		case Bites:
			if f.Bites < 0 {
				f.Bites = pos
			}
		case Heals:
			f.Heals = pos
		case Healed:
			f.Healed = pos
			delete(open, id{x.Step, e.F})
		case Fails:
			f.Fails, f.Why = pos, x.Text
		}
		if len(x.Targets) > 0 {
			f.Targets = x.Targets
		}
		if x.Text != "" && x.Phase != Fails {
			f.Text = x.Text
		}
	}
	return all
}

// faultPause is the fault that stops a process and lets it go on.
const faultPause = "pause"

// Pause is a stretch in which a client stood still: positions of begins and of healed,
// the latter -1 if it never was.
type Pause struct{ Begins, Healed int }

// Pauses are those that the nemesis ordered for a client, in order and apart from each
// other.
func (h *History) Pauses(client int32) []Pause { return h.told.pauses[client] }

// pauses finds them by client. A healed ends the pauses of the clients that it names, and
// one that names nobody ends every pause of its step.
func pauses(h *History) map[int32][]Pause {
	type target struct {
		client int32
		step   int
	}
	all := map[int32][]Pause{}
	open := map[target]int{} // index in all of the client
	heal := func(at target, pos int) {
		if i, ok := open[at]; ok {
			all[at.client][i].Healed = pos
			delete(open, at)
		}
	}
	for _, pos := range h.told.nemesis {
		e := &h.Events[pos]
		if e.F != faultPause || e.Extra == nil {
			continue
		}
		x := e.Extra
		if x.Phase == Healed && len(x.Targets) == 0 {
			for at := range open {
				if at.step == x.Step {
					heal(at, pos)
				}
			}
		}
		for _, name := range x.Targets {
			client, ok := ParseParty(name).Client()
			if !ok {
				continue
			}
			at := target{client, x.Step}
			switch x.Phase {
			case Begins:
				open[at] = len(all[client])
				all[client] = append(all[client], Pause{pos, -1})
			case Healed:
				heal(at, pos)
			}
		}
	}
	for client, each := range all {
		all[client] = together(each)
	}
	return all
}

// together makes one of pauses that overlap: a client goes on when the last of them has
// ended, and it is that stretch which may be too long for its lease.
func together(each []Pause) []Pause {
	all := each[:1]
	for _, p := range each[1:] {
		switch last := &all[len(all)-1]; {
		case last.Healed >= 0 && last.Healed < p.Begins:
			all = append(all, p)
		case last.Healed >= 0 && (p.Healed < 0 || p.Healed > last.Healed):
			last.Healed = p.Healed
		}
	}
	return all
}
