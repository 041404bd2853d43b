// Package oracle describes the locks that package sweep decides as models for porcupine.
// Tests compare the engine with a search by these models; no program imports it.
package oracle

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/models"
	"lockbench/checker/sweep"
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
	all := make([]placed, 0, 2*o.Len())
	for i := range o.Call {
		session := int(o.Session[i])
		all = append(all, placed{o.Call[i], porcupine.Event{ClientId: session, Kind: porcupine.CallEvent, Id: i, Value: Call(o, i)}})
		if o.Out[i] == sweep.Unknown {
			continue
		}
		all = append(all, placed{o.Ret[i], porcupine.Event{ClientId: session, Kind: porcupine.ReturnEvent, Id: i, Value: Answer(o, i)}})
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	events := make([]porcupine.Event, len(all), 2*o.Len())
	for i, p := range all {
		events[i] = p.Event
	}
	return models.Close(events)
}

// Call returns what operation i asks for.
func Call(o *sweep.Ops, i int) models.Call {
	session := int32(o.Session[i]) + 1
	c := models.Call{Session: session, Owner: session}
	if len(o.Owners) > 0 {
		c.Owner = int32(o.Owners[o.Session[i]]) + 1
	}
	switch o.Kind[i] {
	case sweep.Acquire, sweep.AcquireShared:
		c.Shared = o.Kind[i] == sweep.AcquireShared
	case sweep.Release:
		c.Kind = models.Release
	}
	return c
}

// Answer returns the answer of operation i.
func Answer(o *sweep.Ops, i int) models.Outcome {
	acquire := o.Kind[i] != sweep.Release
	switch o.Out[i] {
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
