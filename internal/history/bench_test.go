package history

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"
)

// attemptOf is what a client does in one attempt, as the workloads record it: seven
// operations, fourteen events.
func attemptOf(client int32, attempt int) []Event {
	name := fmt.Sprintf("%d.%d", client, attempt)
	p := Process(client)
	pair := func(f string, ok Event) []Event {
		ok.Process, ok.Client, ok.Type, ok.F, ok.Session = p, client, OK, f, name
		return []Event{{Process: p, Client: client, Type: Invoke, F: f, Session: name}, ok}
	}
	events := pair(Acquire, Event{Until: new(5 * time.Second)})
	events[0].Key, events[0].TTL, events[0].Wait = "a", 5*time.Second, time.Second
	for _, more := range [][]Event{
		pair(Check, Event{}),
		pair(FRead, Event{Resource: Plain, Value: new(int64(attempt))}),
		pair(Check, Event{}),
		pair(Write, Event{}),
		pair(Renew, Event{Until: new(5 * time.Second)}),
		pair(Release, Event{}),
	} {
		events = append(events, more...)
	}
	events[8].Resource, events[8].Value = Plain, new(int64(attempt+1))
	return events
}

// manyEvents are numbered attempts of 30 clients.
func manyEvents(n int) []Event {
	events := make([]Event, 0, n+14)
	for attempt := 0; len(events) < n; attempt++ {
		events = append(events, attemptOf(int32(attempt%30), attempt/30)...)
	}
	events = events[:n]
	for i := range events {
		events[i].Index, events[i].Time = i, time.Duration(i)*17_345
	}
	return events
}

func manyLines(b *testing.B, n int) []byte {
	h, err := Build(Header{Lock: "set-nx"}, manyEvents(n))
	if err != nil {
		b.Fatal(err)
	}
	var lines bytes.Buffer
	if err := h.Encode(&lines); err != nil {
		b.Fatal(err)
	}
	return lines.Bytes()
}

// BenchmarkRecordOperation measures what an operation (invocation and return)
// costs the client that is recorded, making the events included, without the two clock reads that it
// cannot avoid. Clients wait for servers between operations, so events come in bursts
// that the writer catches up with; only the bursts are measured.
func BenchmarkRecordOperation(b *testing.B) {
	const burst = 1400 // operations
	measure := func(b *testing.B, operation func(i int), rest func(round int)) {
		var each []float64 // ns, of one operation, by burst
		for done, round := 0, 0; done < b.N; round++ {
			rest(round)
			n := min(burst, b.N-done)
			from := time.Now()
			for i := range n {
				operation(i)
			}
			each = append(each, float64(time.Since(from))/float64(n))
			done += n
		}
		slices.Sort(each)
		b.ReportMetric(each[len(each)/2], "ns/operation") // the median burst: no other process used the core
		b.ReportMetric(0, "ns/op")                        // would count the rests
	}
	b.Run("two-clock-reads", func(b *testing.B) {
		start, sum := time.Now(), time.Duration(0)
		measure(b, func(int) { sum += time.Since(start) + time.Since(start) }, func(int) {})
		if sum < 0 {
			b.Fatal("the clock went back")
		}
	})
	b.Run("recorder", func(b *testing.B) {
		r, err := New(io.Discard, Header{}, 0)
		if err != nil {
			b.Fatal(err)
		}
		var names [burst / 2]string
		measure(b, func(i int) {
			client, p, name := int32(i/2), Process(i/2), names[i/2]
			if i%2 == 0 {
				r.Record(Event{Process: p, Client: client, Type: Invoke, F: Acquire, Session: name, Key: "a", TTL: 5 * time.Second, Wait: time.Second})
				r.Record(Event{Process: p, Client: client, Type: OK, F: Acquire, Session: name, Until: new(5 * time.Second)})
			} else {
				r.Record(Event{Process: p, Client: client, Type: Invoke, F: Release, Session: name})
				r.Record(Event{Process: p, Client: client, Type: OK, F: Release, Session: name})
			}
		}, func(round int) {
			for client := range names {
				names[client] = fmt.Sprintf("%d.%d", client, round)
			}
			for r.pending() {
				time.Sleep(100 * time.Microsecond)
			}
		})
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	})
}

// pending tells whether there are events that the writer has not taken.
func (r *Recorder) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lines) > 0
}

func BenchmarkEncode(b *testing.B) {
	events := manyEvents(10_000)
	b.ReportAllocs()
	var buf []byte
	for i := range b.N {
		line, err := AppendEvent(buf[:0], &events[i%len(events)])
		if err != nil {
			b.Fatal(err)
		}
		buf = line
	}
}

func BenchmarkValidate(b *testing.B) {
	events := manyEvents(100_000)
	b.ReportAllocs()
	var p *pairing
	for i := range b.N {
		pos := i % len(events)
		if pos == 0 {
			p, _ = newPairing(&History{Header: Header{Lockbench: Version}})
		}
		if err := p.add(&events[pos], pos+2); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	const n = 100_000
	lines := manyLines(b, n)
	b.ReportAllocs()
	b.SetBytes(int64(len(lines) / n))
	b.ResetTimer()
	for done := 0; done < b.N; done += n {
		if _, err := Read(bytes.NewReader(lines)); err != nil {
			b.Fatal(err)
		}
	}
}
