package checker

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"lockbench/internal/history"
	"lockbench/locks"
)

// TestMain sets the number of histories and the seed. The seed is constant, so that a new failure has its cause in a
// change of the code. `make verify` uses other seeds.
func TestMain(m *testing.M) {
	flag.Parse()
	unless := map[string]string{"rapid.checks": "3000", "rapid.seed": "1"} // small histories are cheap, and rare cases need many of them
	if os.Getenv("LOCKBENCH_VERIFY") != "" {
		unless = map[string]string{"rapid.checks": "100000"}
	}
	flag.Visit(func(f *flag.Flag) { delete(unless, f.Name) })
	for name, value := range unless {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// TestExclusionAgainstNaive compares the sweep with the definitions.
func TestExclusionAgainstNaive(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := random(t)
		for _, release := range []Release{Ended, Strict} {
			verdict, want := naive{h, release == Strict, h.ClockStep()}.judge()
			r := alone(Exclusion, h, Options{Release: release})
			var got []overlapping
			for _, f := range r.Findings {
				got = append(got, overlapping{f.Event, f.Class})
			}
			if verdict != r.Verdict || !slices.Equal(got, want) {
				t.Fatalf("release %s: exclusion says %s %v, the definition says %s %v\n%s", release, r.Verdict, got, verdict, want, lines(h))
			}
			seen[words(r.Verdict, r.Worst())]++
		}
	})
	t.Logf("judged: %v", seen)
	for _, said := range []string{"valid", "unknown", "violated overstay", "violated undetermined", "violated double-grant"} {
		if seen[said] == 0 {
			t.Errorf("none of the histories was %s, so this shows little", said)
		}
	}
}

// TestRenaming changes all numbers and names, which must not change the report.
func TestRenaming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := random(t)
		other := changed(t, h, func(e *history.Event) {
			if e.Process >= 0 {
				e.Process, e.Client = 100-e.Process, 7-e.Client // single digits: see naive
			}
			if e.Session != "" {
				e.Session = "x" + e.Session
			}
			if e.F == "pause" {
				e.Targets = []string{fmt.Sprintf("client-%d", 7-int(e.Targets[0][7]-'0'))}
			}
		})
		same(t, h, other)
	})
}

// TestShifting shifts all times, which must not change the report.
func TestShifting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := random(t)
		by := time.Duration(rapid.IntRange(1, 1e6).Draw(t, "by"))
		same(t, h, changed(t, h, func(e *history.Event) { e.Time += by }))
	})
}

func changed(t *rapid.T, h *history.History, change func(*history.Event)) *history.History {
	events := slices.Clone(h.Events)
	for i := range events {
		change(&events[i])
	}
	other, err := history.Build(h.Header, events)
	if err != nil {
		t.Fatalf("the changed history is malformed: %v", err)
	}
	return other
}

// same compares two reports, except for names and times.
func same(t *rapid.T, a, b *history.History) {
	type found struct {
		Rule   string
		Class  Class
		Events []int
	}
	gist := func(h *history.History) map[string][]any {
		all := map[string][]any{}
		for _, c := range Judge(h, Options{}).Checks {
			all[c.Name] = append(all[c.Name], c.Verdict.String(), c.LostUpdates, c.Broken != "", c.Note != "")
			for _, f := range c.Findings {
				all[c.Name] = append(all[c.Name], found{f.Rule, f.Class, f.Events})
			}
		}
		return all
	}
	if diff := cmp.Diff(gist(a), gist(b)); diff != "" {
		t.Fatalf("the verdict changed:\n%s\n%s", diff, lines(a))
	}
}

// random draws a small well-formed history: a few clients with leases, waits, pauses, renewals, deaths and unknown
// outcomes, and a lock that grants at random.
func random(t *rapid.T) *history.History {
	g := generator{t: t, next: 4}
	for c := range int32(3) {
		g.clients = append(g.clients, &player{client: c, process: history.Process(c)})
	}
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		g.now += time.Duration(rapid.IntRange(0, 3).Draw(t, "later"))
		if g.odds(12) {
			g.nemesis()
			continue
		}
		g.move(g.clients[rapid.IntRange(0, len(g.clients)-1).Draw(t, "who")])
	}
	h, err := history.Build(history.Header{}, g.events)
	if err != nil {
		t.Fatalf("the generator made a malformed history: %v\n%s", err, lines(&history.History{Events: g.events}))
	}
	return h
}

type generator struct {
	t       *rapid.T
	now     time.Duration
	events  []history.Event
	clients []*player
	next    history.Process // never used before
	steps   int
	deaths  int
}

// player is a client with its outstanding operation and its session.
type player struct {
	client   int32
	process  history.Process
	attempts int
	session  string
	open     string
	granted  bool
	over     bool // the outcome of its acquire is unknown, so it may only release
	retired  bool
	paused   int // the step that paused it
	called   history.Event
}

func (g *generator) odds(n int) bool { return rapid.IntRange(1, n).Draw(g.t, "odds") == n }

func (g *generator) small(name string) time.Duration {
	return time.Duration(rapid.IntRange(1, 9).Draw(g.t, name))
}

func (g *generator) add(e history.Event) {
	e.Index, e.Time = len(g.events), g.now
	g.events = append(g.events, e)
}

func (g *generator) nemesis() {
	p := g.clients[rapid.IntRange(0, len(g.clients)-1).Draw(g.t, "victim")]
	switch rapid.IntRange(0, 9).Draw(g.t, "fault") {
	case 0:
		g.add(history.Probed(history.ClockStep{By: 5}))
	case 1, 2:
		if g.deaths == 2 {
			return
		}
		g.deaths++
		g.add(history.Event{Process: p.process, Client: p.client, Type: history.Info, F: history.Died})
		*p = player{client: int32(2 + g.deaths), process: g.next} // a new client replaces it
		g.next++
	default:
		phase := history.Healed
		if p.paused == 0 {
			g.steps++
			p.paused, phase = g.steps, history.Begins
		}
		g.add(history.Event{Process: history.Nemesis, Type: history.Info, F: "pause", Step: p.paused, Targets: []string{fmt.Sprintf("client-%d", p.client)}, Phase: phase})
		if phase == history.Healed {
			p.paused = 0
		}
	}
}

func (g *generator) move(p *player) {
	e := history.Event{Process: p.process, Client: p.client, Session: p.session}
	switch {
	case p.open != "":
		g.answer(p, e)
		return
	case p.session == "" || g.odds(6):
		if p.retired {
			p.process, p.retired = g.next, false
			g.next++
		}
		p.attempts++
		p.session, p.granted, p.over = fmt.Sprintf("%d.%d", p.client, p.attempts), false, false
		e.Process, e.Session, e.F = p.process, p.session, history.Acquire
		e.Key = rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(g.t, "key")
		if g.odds(4) {
			e.Key, e.Keys = "", []string{"a", "b"}
		}
		if g.odds(4) {
			e.Mode = locks.Shared
		}
		if !g.odds(3) {
			e.TTL = g.small("ttl")
		}
		if g.odds(3) {
			e.Wait = g.small("wait")
		}
	case p.granted:
		e.F = rapid.SampledFrom([]string{history.Check, history.Write, history.Renew, history.Release, history.Lost}).Draw(g.t, "f")
		switch e.F {
		case history.Lost:
			e.Type = history.Info
			g.add(e)
			return
		case history.Renew:
			e.TTL = g.small("ttl")
		case history.Write:
			e.Resource, e.Value = history.Plain, new(int64(len(g.events)))
		}
	case p.over:
		e.F = history.Release
	default:
		p.session = ""
		return
	}
	e.Type = history.Invoke
	p.open, p.called = e.F, e
	g.add(e)
}

// answer adds the return of the outstanding operation, usually ok.
func (g *generator) answer(p *player, e history.Event) {
	e.F, e.Session = p.open, p.called.Session
	e.Type = rapid.SampledFrom([]history.Type{history.OK, history.OK, history.OK, history.OK, history.Fail, history.Info}).Draw(g.t, "outcome")
	switch {
	case e.Type == history.Info:
		p.retired = true
		if e.F == history.Acquire {
			p.over = true
		}
	case e.Type == history.Fail:
		e.Error = map[string]string{history.Acquire: history.ErrorTaken, history.Check: history.ErrorLost, history.Write: history.ErrorStaleToken}[e.F]
		if e.Error == "" {
			e.Error = history.ErrorNotHeld
		}
		if e.F == history.Acquire {
			p.session = ""
		}
	case e.F == history.Acquire:
		p.granted = true
		switch {
		case p.called.TTL > 0 && g.odds(2):
			e.Until = new(g.small("until"))
		case p.called.TTL == 0 && g.odds(2):
			e.Renewed, e.Lease = true, g.small("lease")
		}
	case e.F == history.Renew && g.odds(2):
		e.Until = new(g.small("until"))
	}
	p.open = ""
	g.add(e)
}

// lines writes a history for the message of a failed test.
func lines(h *history.History) string {
	s := ""
	for i := range h.Events {
		line, _ := history.AppendEvent(nil, &h.Events[i])
		s += string(line)
	}
	return s
}
