package bench

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

// reading measures the way of a history from its file to a verdict.
func reading(_ context.Context, o Options) ([]Row, error) {
	o.say("measuring reading")
	h, err := history.Build(history.Header{Lock: "set-nx"}, tenures(o.scale(500_000)))
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	if err := h.Encode(&lines); err != nil {
		return nil, err
	}
	n := len(h.Events)
	var failed error
	cold, warm := best(now, 5, func() { _, failed = history.Read(bytes.NewReader(lines.Bytes())) })
	if failed != nil {
		return nil, failed
	}
	ns := perOp(warm, n)
	rows := []Row{{
		What: "reading own JSON lines", Goal: "≤ 500 ns an event", Met: ns <= 500,
		Reached: fmt.Sprintf("%.0f ns", ns), Detail: fmt.Sprintf("%s events of %d bytes; cold %.0f ns", thousands(float64(n)), lines.Len()/n, perOp(cold, n)),
	}}
	_, warm = best(now, 3, func() { checker.Judge(h, checker.Options{}) })
	return append(rows, Row{
		What:    "all checks together, of a history with leases, work and renewals",
		Reached: fmt.Sprintf("%.0f ns an event", perOp(warm, n)), Met: true,
	}), nil
}

// tenures are what clients of a lock with leases do, one after the other.
func tenures(n int) []history.Event {
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
				answer.Until, answer.HasUntil = ttl, true
			case history.Renew:
				call.TTL = ttl
				answer.Until, answer.HasUntil = ttl, true
			case history.FRead:
				call.Resource, answer.Resource = history.Plain, history.Plain
				answer.Value, answer.HasValue = int64(attempt), true
			case history.Write:
				call.Resource, call.Value, call.HasValue = history.Plain, int64(attempt+1), true
			}
			events = append(events, call, answer)
		}
	}
	for i := range events {
		events[i].Index, events[i].Time = i, time.Duration(i)*17*time.Microsecond
	}
	return events
}
