package bench

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

// reading measures a recorded history from its file to the verdict.
func reading(_ context.Context, o Options) ([]Row, error) {
	o.say("measuring reading and judging")
	const events, goal = 50_000, time.Second
	h, err := history.Build(history.Header{Lock: "set-nx"}, attempts(events))
	if err != nil {
		return nil, err
	}
	lines, err := historytest.Encode(h)
	if err != nil {
		return nil, err
	}
	var failed error
	var read time.Duration
	_, took := best(now, 3, func() {
		begin := now()
		var h *history.History
		h, failed = history.Read(bytes.NewReader(lines))
		read = now() - begin
		if failed == nil {
			checker.Judge(h, checker.Options{})
		}
	})
	return []Row{{
		What: fmt.Sprintf("read and judge %s events", thousands(events)), Goal: "≤ 1 s", Met: took <= goal, Reached: round(took).String(),
		Detail: fmt.Sprintf("reading %s; %d bytes an event; leases, work and renewals", round(read), len(lines)/len(h.Events)),
	}}, failed
}

// attempts generates the operations of clients of a lock with leases, one after the other.
func attempts(n int) []history.Event {
	const ttl = 5 * time.Second
	events := make([]history.Event, 0, n+14)
	for attempt := 0; len(events)+14 <= n; attempt++ {
		p := int32(attempt % 30)
		e := history.Event{Process: history.Process(p), Client: p, Session: fmt.Sprintf("%d.%d", p, attempt/30)}
		for _, f := range []string{history.Acquire, history.Check, history.FRead, history.Check, history.Write, history.Renew, history.Release} {
			call := e
			call.Type, call.F = history.Invoke, f
			answer := e
			answer.Type, answer.F = history.OK, f
			switch f {
			case history.Acquire:
				call.Key, call.TTL, call.Wait = "a", ttl, time.Second
				answer.Until = new(ttl)
			case history.Renew:
				call.TTL = ttl
				answer.Until = new(ttl)
			case history.FRead:
				call.Resource, answer.Resource = history.Plain, history.Plain
				answer.Value = new(int64(attempt))
			case history.Write:
				call.Resource, call.Value = history.Plain, new(int64(attempt+1))
			}
			events = append(events, call, answer)
		}
	}
	for i := range events {
		events[i].Index, events[i].Time = i, time.Duration(i)*17*time.Microsecond
	}
	return events
}
