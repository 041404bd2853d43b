// Package oracle describes the locks that package sweep decides as models for porcupine.
// Tests compare the engine with a search by these models; no program imports it.
package oracle

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/internal/models"
	"lockbench/checker/internal/sweep"
)

// Model returns the sequential specification of the lock that m describes.
func Model(m sweep.Model) porcupine.Model { return models.Lock(m.Reentrant) }

// Events returns the operations of one lock as events for porcupine. Operations that did
// not return are closed, so the events can be searched as they are.
func Events(o *sweep.Ops) []porcupine.Event {
	type placed struct {
		at uint32
		porcupine.Event
	}
	all := make([]placed, 0, 2*len(o.All))
	for i := range o.All {
		session := int(o.All[i].Session)
		all = append(all, placed{o.All[i].Call, porcupine.Event{ClientId: session, Kind: porcupine.CallEvent, Id: i, Value: Call(o, i)}})
		if o.All[i].Out == sweep.Unknown {
			continue
		}
		all = append(all, placed{o.All[i].Ret, porcupine.Event{ClientId: session, Kind: porcupine.ReturnEvent, Id: i, Value: Answer(o, i)}})
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	events := make([]porcupine.Event, len(all), 2*len(o.All))
	for i, p := range all {
		events[i] = p.Event
	}
	return models.Close(events)
}

// Call returns what operation i asks for.
func Call(o *sweep.Ops, i int) models.Call {
	session := int32(o.All[i].Session) + 1
	c := models.Call{Session: session, Owner: session}
	if len(o.Owners) > 0 {
		c.Owner = int32(o.Owners[o.All[i].Session]) + 1
	}
	switch o.All[i].Kind {
	case sweep.Acquire, sweep.AcquireShared:
		c.Shared = o.All[i].Kind == sweep.AcquireShared
	case sweep.Release:
		c.Kind = models.Release
	}
	return c
}

// Answer returns the answer of operation i.
func Answer(o *sweep.Ops, i int) models.Outcome {
	acquire := o.All[i].Kind != sweep.Release
	switch o.All[i].Out {
	case sweep.OK:
		return models.OK
	case sweep.StrictFail:
		return models.Refused
	case sweep.Fail:
		if !acquire { // "not the holder" is a claim
			return models.Refused
		}
		return models.Fail
	}
	return models.Unknown
}
