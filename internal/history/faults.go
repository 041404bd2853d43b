package history

import (
	"fmt"
	"slices"
)

// Fault is a fault as it happened. Begins to Fails are positions in the history, or -1.
type Fault struct {
	Name string
	Step int
	// Begins is before the fault is injected, Bites after a probe saw that it took effect,
	// Heals before it is undone, Healed after a probe saw that it is gone.
	Begins, Bites, Heals, Healed int
	Fails                        int    // it could not be injected or undone
	Why                          string // why it failed
	Targets                      []string
	Effect                       []string // as the fault states it; empty in older files
	Text                         string   // the nemesis's description
}

// Began reports whether the fault began. It is false if the history says only that the fault could not be done.
func (f *Fault) Began() bool { return f.Bites >= 0 || f.Heals >= 0 || f.Fails != f.Begins }

// effectsOf are the effects of the faults of older histories, which state none. Faults that are added state their own.
var effectsOf = map[string][]string{
	"kill":             {EffectDisconnectAll},
	"pause":            {EffectStops, EffectDelays, EffectDisconnects},
	"isolate":          {EffectDelays, EffectDisconnects},
	"ring":             {EffectDelays, EffectDisconnects},
	"cut":              {EffectLinks, EffectDelays, EffectDisconnects},
	"lag":              {EffectLinks, EffectDelays, EffectDisconnects},
	"bandwidth":        {EffectLinks, EffectDelays, EffectDisconnects},
	"drop-replies":     {EffectLinks, EffectDisconnects},
	"reset":            {EffectLinks, EffectDisconnects},
	"lose-reply":       {EffectDisconnects},
	"hold-request":     {EffectDelays, EffectDisconnects},
	"busy":             {EffectDelays, EffectDisconnects},
	"clock":            {EffectClocks},
	"flush":            {EffectData},
	"evict":            {EffectData},
	"poison":           {EffectData},
	"drop-subscribers": {EffectDisconnectAll},
	"promote":          {EffectDisconnectAll},
}

// effects are those that the fault states, else those of its name; nil if neither is known.
func (f *Fault) effects() []string {
	if len(f.Effect) > 0 {
		return f.Effect
	}
	return effectsOf[f.Name]
}

// does reports whether the fault has an effect.
func (f *Fault) does(effect string) bool { return slices.Contains(f.effects(), effect) }

// may reports whether the fault may have an effect. A fault without known effects may have any.
func (f *Fault) may(effect string) bool { return len(f.effects()) == 0 || f.does(effect) }

// unknownFaults warns of faults that may have had any effect, once for each name.
func unknownFaults(all []Fault) (warnings []string) {
	var names []string
	for _, f := range all {
		if len(f.effects()) > 0 || !f.Began() || slices.Contains(names, f.Name) {
			continue
		}
		names = append(names, f.Name)
		warnings = append(warnings, fmt.Sprintf("fault %q is not one of lockbench's and states no \"effect\": it may have stopped, delayed and "+
			"disconnected each client that it names, and all clients of the servers that it names, which excuses the lock", f.Name))
	}
	return warnings
}

// Pauses reports whether the fault stops processes and lets them go on.
func (f *Fault) Pauses() bool { return f.does(EffectStops) }

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
	return servers && !(named && f.does(EffectLinks))
}

// Disconnects reports whether the fault may close the connection of a client to a server, at once or
// after a timeout.
func (f *Fault) Disconnects(client int32) bool {
	return f.Concerns(client) && (f.may(EffectDisconnects) || f.may(EffectDisconnectAll))
}

// Reconnects reports whether the client must connect again after the fault: the fault names the client, or
// it ended the connections of a server with all its clients.
func (f *Fault) Reconnects(client int32) bool {
	return f.Disconnects(client) && (f.Strikes(client) || f.may(EffectDisconnectAll))
}

// HoldsUp reports whether a request that a client sends meanwhile may arrive when it is over.
func (f *Fault) HoldsUp(client int32) bool { return f.Concerns(client) && f.may(EffectDelays) }

// Misleads reports whether a client may be stopped during the fault, or may have a wrong clock.
func (f *Fault) Misleads(client int32) bool {
	return f.Strikes(client) && (f.may(EffectStops) || f.may(EffectClocks))
}

// Strikes reports whether a client is among the targets.
func (f *Fault) Strikes(client int32) bool {
	return slices.ContainsFunc(f.Targets, func(name string) bool {
		number, ok := ParseParty(name).Client()
		return ok && number == client
	})
}

// faultID identifies a fault that the nemesis ordered, until it has healed.
type faultID struct {
	step int
	name string
}

// faults finds the faults of a history, in the order in which they began.
func faults(h *History) []Fault {
	var all []Fault
	open := map[faultID]int{} // index in all
	for _, pos := range h.Nemesis {
		e := &h.Events[pos]
		i, isOpen := open[faultID{e.Step, e.F}]
		if !isOpen {
			if e.Phase != Begins && e.Phase != Bites && e.Phase != Fails {
				continue
			}
			i = len(all)
			open[faultID{e.Step, e.F}] = i
			all = append(all, Fault{Name: e.F, Step: e.Step, Begins: pos, Bites: -1, Heals: -1, Healed: -1, Fails: -1})
		}
		f := &all[i]
		switch e.Phase {
		case Bites:
			if f.Bites < 0 {
				f.Bites = pos
			}
		case Heals:
			f.Heals = pos
		case Healed:
			f.Healed = pos
			delete(open, faultID{e.Step, e.F})
		case Fails:
			f.Fails, f.Why = pos, e.Text
		}
		if len(e.Targets) > 0 {
			f.Targets = e.Targets
		}
		if len(e.Effect) > 0 {
			f.Effect = e.Effect
		}
		if e.Text != "" && e.Phase != Fails {
			f.Text = e.Text
		}
	}
	return all
}

// Pause is a stretch in which a client was stopped: the positions of begins and of healed, the latter -1 if it never
// was.
type Pause struct{ Begins, Healed int }

// Pauses returns the pauses that the nemesis ordered for a client, in order. They may overlap. A healed event ends the
// pauses of the clients that it names, or of all clients if it names none.
func (h *History) Pauses(client int32) []Pause {
	var all []Pause
	open := map[faultID]int{} // index in all
	for _, pos := range h.Nemesis {
		e := &h.Events[pos]
		at, f := faultID{e.Step, e.F}, Fault{Name: e.F, Effect: e.Effect, Targets: e.Targets}
		i, paused := open[at]
		switch {
		case e.Phase == Begins && f.may(EffectStops) && f.Strikes(client):
			open[at] = len(all)
			all = append(all, Pause{pos, -1})
		case e.Phase == Healed && paused && (len(e.Targets) == 0 || f.Strikes(client)):
			all[i].Healed = pos
			delete(open, at)
		}
	}
	return all
}
