package models

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/sweep"
)

// OfSweep is the model that says what package sweep is to find out for itself, of a lock
// some of whose owners have several sessions, or none.
func OfSweep(m sweep.Model, owners bool) porcupine.Model {
	p := Params{Permits: m.Permits, Owners: owners, Reentrant: m.Reentrant}
	switch {
	case m.Shape == sweep.RW:
		return RW(p)
	case m.Shape == sweep.Semaphore:
		return Semaphore(p)
	case m.Fenced:
		return Fenced(p)
	case m.Reentrant && owners:
		return Reentrant(p)
	}
	return OwnerMutex(p)
}

// SweepEvents are the operations of one lock as porcupine takes them. Those that did
// not return are closed, so the events can be searched as they are.
func SweepEvents(o *sweep.Ops) []porcupine.Event {
	type placed struct {
		at uint32
		porcupine.Event
	}
	all := make([]placed, 0, 2*o.Len())
	for i := range o.Call {
		session := int(o.Session[i])
		all = append(all, placed{o.Call[i], porcupine.Event{ClientId: session, Kind: porcupine.CallEvent, Id: i, Value: SweepCall(o, i)}})
		if o.Out[i] == sweep.Unknown {
			continue
		}
		all = append(all, placed{o.Ret[i], porcupine.Event{ClientId: session, Kind: porcupine.ReturnEvent, Id: i, Value: SweepAnswer(o, i)}})
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	events := make([]porcupine.Event, len(all), 2*o.Len())
	for i, p := range all {
		events[i] = p.Event
	}
	return Close(events)
}

// SweepCall is what an operation of a lock asks for.
func SweepCall(o *sweep.Ops, i int) Call {
	session := int32(o.Session[i]) + 1
	c := Call{Session: session, Owner: session}
	if len(o.Owners) > 0 {
		c.Owner = int32(o.Owners[o.Session[i]]) + 1
	}
	switch o.Kind[i] {
	case sweep.Acquire, sweep.AcquireShared:
		c.Shared = o.Kind[i] == sweep.AcquireShared
		if o.Aux != nil {
			c.Weight = o.Aux[i]
		}
	case sweep.Release:
		c.Kind = Release
	}
	return c
}

// SweepAnswer is what came back.
func SweepAnswer(o *sweep.Ops, i int) Answer {
	acquire := o.Kind[i] != sweep.Release
	switch o.Out[i] {
	case sweep.OK:
		a := Answer{Outcome: OK}
		if acquire && o.Aux != nil {
			a.Token = uint64(o.Aux[i])
		}
		return a
	case sweep.StrictFail:
		return Answer{Outcome: Refused}
	case sweep.Fail:
		if !acquire { // "not the holder" is a claim
			return Answer{Outcome: Refused}
		}
		return Answer{Outcome: Fail}
	}
	return Answer{}
}
