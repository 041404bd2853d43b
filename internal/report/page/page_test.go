package page

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/testing/historytest"
	"lockbench/locks"
)

// events builds a history by hand, with times in milliseconds.
type events struct{ all []history.Event }

func (s *events) add(at int, e history.Event) int {
	e.Index, e.Time = len(s.all), time.Duration(at)*time.Millisecond
	s.all = append(s.all, e)
	return e.Index
}

func (s *events) client(at, c int, typ history.Type, f, session string, with ...func(*history.Event)) int {
	e := history.Event{Process: history.Process(c), Client: int32(c), Type: typ, F: f, Session: session}
	for _, w := range with {
		w(&e)
	}
	return s.add(at, e)
}

func (s *events) granted(at, c int, session, key string) {
	s.client(at, c, history.Invoke, history.Acquire, session, func(e *history.Event) { e.Key, e.TTL = key, 8*time.Second })
	s.client(at+1, c, history.OK, history.Acquire, session, func(e *history.Event) { e.Until = new(8 * time.Second) })
}

func (s *events) released(at, c int, session string) {
	s.client(at, c, history.Invoke, history.Release, session)
	s.client(at+1, c, history.OK, history.Release, session)
}

func (s *events) writes(at, c int, session string, v int64) {
	set := func(e *history.Event) { e.Value, e.Resource = &v, history.Plain }
	s.client(at, c, history.Invoke, history.Write, session, set)
	s.client(at+1, c, history.OK, history.Write, session, set)
}

func (s *events) fault(at, step int, name, phase, text string, targets ...string) {
	s.add(at, history.Event{Process: history.Nemesis, Type: history.Info, F: name, Step: step, Phase: phase, Text: text, Targets: targets})
}

func (s *events) probe(at int, f history.Fact) {
	s.add(at, history.Probed(f))
}

// failover is the well-known bug: a master dies before its replicas have received a grant.
func failover(more int) []history.Event {
	s := &events{}
	s.probe(0, history.Promoted{Node: "redis-1"})
	s.granted(10, 1, "1.1", "a")
	s.released(30, 1, "1.1")
	s.probe(1000, history.Episode{Number: 1})
	s.fault(1600, 1, "lag", history.Begins, "", "redis-2", "redis-3")
	s.fault(1602, 1, "lag", history.Bites, "redis-2 and redis-3 hear nothing more from redis-1", "redis-2", "redis-3")
	s.granted(1904, 3, "3.1", "a")
	s.fault(1910, 2, "kill", history.Begins, "", "redis-1")
	s.fault(1911, 2, "kill", history.Bites, `redis-1 (master) <is> "gone"`, "redis-1")
	s.probe(4102, history.Promoted{Node: "redis-2"})
	s.granted(4212, 5, "5.1", "a")
	s.writes(4230, 5, "5.1", 1)
	s.released(4242, 5, "5.1")
	for i := range max(more, 40) {
		// Many short holds of another key, some of them in one millisecond.
		at, session := 4300+2900*i/max(more, 40), fmt.Sprintf("6.%d", i)
		s.client(at, 6, history.Invoke, history.Acquire, session, func(e *history.Event) { e.Key = "b" })
		s.client(at, 6, history.OK, history.Acquire, session)
		s.client(at, 6, history.Invoke, history.Release, session)
		s.client(at, 6, history.OK, history.Release, session)
	}
	s.writes(7320, 3, "3.1", 1)
	s.released(7330, 3, "3.1")
	s.fault(12000, 2, "kill", history.Heals, "", "redis-1")
	s.fault(12001, 2, "kill", history.Healed, "", "redis-1")
	s.granted(12100, 1, "1.2", "a")
	s.released(12200, 1, "1.2")
	return s.all
}

// stepsOf returns a plan with a number of steps, and of steps in an episode.
func stepsOf(n, each int) []history.PlanStep {
	steps := make([]history.PlanStep, n)
	for i := range steps {
		steps[i] = history.PlanStep{ID: i + 1, Fault: "cut", Episode: 1 + i/each, Text: "cut redis-1"}
	}
	return steps
}

// bundle writes a results folder with the judged history under each of the names.
func bundle(t testing.TB, all []history.Event, names ...string) string {
	return bundleOf(t, all, []history.PlanStep{
		{ID: 1, Fault: "lag", Episode: 1, Text: "lag master -> replicas"}, {ID: 2, Fault: "kill", Episode: 1, Text: "kill master"},
		{ID: 3, Fault: "pause", Episode: 1, NA: "no such <client>"}, {ID: 4, Fault: "cut", Episode: 1, Text: "cut a replica"},
	}, names...)
}

func bundleOf(t testing.TB, all []history.Event, plan []history.PlanStep, names ...string) string {
	t.Helper()
	b, err := report.Create(t.TempDir(), "failover", time.Date(2026, 11, 21, 11, 40, 0, 0, time.UTC), 7)
	if err != nil {
		t.Fatal(err)
	}
	r := &report.Result{Schema: report.SchemaVersion, Scenario: "failover", World: "sim", Seed: 7, AsExpected: true, DurationS: 12.3,
		Again: "lockbench run failover --world sim --seed 7", Program: "lockbench dev", Machine: "linux/amd64",
		WorldCaveat: "World sim is weak evidence.", ServersCaveat: "Failovers are quick here.", Virtual: true}
	for _, name := range names {
		h, err := history.Build(history.Header{Scenario: "failover", Lock: name, Topology: string(locks.Sentinel), World: "sim", Seed: 7, Plan: plan}, all)
		if err != nil {
			t.Fatal(err)
		}
		f, err := b.CreateHistory(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := historytest.Encode(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		l := report.NewLock(h, checker.Judge(h, checker.Options{}))
		l.Expected, l.AsExpected = "any", true
		r.Locks = append(r.Locks, l)
	}
	if err := b.WriteScenario([]byte("about: <b>bold</b>\n")); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteReports(r); err != nil {
		t.Fatal(err)
	}
	if err := WriteTo(b.Dir); err != nil {
		t.Fatal(err)
	}
	return b.Dir
}

func failoverBundle(t testing.TB) string { return bundle(t, failover(0), "set-nx") }

func pageOf(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page depends on the folder alone and has the same bytes each time.
func TestPageIsWrittenAgainTheSame(t *testing.T) {
	dir := failoverBundle(t)
	first := pageOf(t, dir)
	if err := os.Remove(filepath.Join(dir, File)); err != nil {
		t.Fatal(err)
	}
	if err := WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	if pageOf(t, dir) != first {
		t.Error("written again it is another page")
	}
}

// TestPageDrawsTheReading checks that a hold ends with a failed release, except if the history was judged with --release strict.
func TestPageDrawsTheReading(t *testing.T) {
	s := &events{}
	s.granted(100, 1, "1.1", "a")
	s.client(200, 1, history.Invoke, history.Release, "1.1")
	s.client(201, 1, history.Fail, history.Release, "1.1", func(e *history.Event) { e.Error = "closed" })
	s.granted(300, 2, "2.1", "a")
	h, err := history.Build(history.Header{Lock: "set-nx"}, s.all)
	if err != nil {
		t.Fatal(err)
	}
	for reading, ends := range map[checker.Release]string{checker.Ended: "0.200 s (released)", checker.Strict: "0.301 s (to the end)"} {
		l := report.NewLock(h, checker.Judge(h, checker.Options{Release: reading}))
		d := draw(&l, h, 100, true)
		var b strings.Builder
		if err := pages.ExecuteTemplate(&b, "timeline", d.Timeline); err != nil {
			t.Fatal(err)
		}
		if want := "client 1, session 1.1 holds &#34;a&#34; from 0.101 s to " + ends; !strings.Contains(b.String(), want) {
			t.Errorf("%s: the page does not draw %q:\n%s", reading, want, b.String())
		}
	}
}

// The parts have a fixed order.
func TestPageOrder(t *testing.T) {
	text := pageOf(t, failoverBundle(t))
	at := 0
	for _, part := range []string{`id="outcome"`, `id="again"`, `<h2>Verdicts`, `class="story"`, `id="lock-set-nx-drawing"`, `id="lock-set-nx-timeline"`,
		`The plan as it happened`, `Verdict and findings of each checker`, `Over the whole run`, `<h2>Limits`, `Where this comes from`} {
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Fatalf("%s is not there, or not in its place", part)
		}
		at += i
	}
}

// The caveats come from result.json. The page has no names of worlds.
func TestPageTellsTheCaveats(t *testing.T) {
	text := pageOf(t, failoverBundle(t))
	for _, want := range []string{"<li>World sim is weak evidence.</li>", "none got a lock. Failovers are quick here.</li>", "the same history, byte for byte"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestPageTellsThePlan(t *testing.T) {
	text := pageOf(t, failoverBundle(t))
	for _, want := range []string{"no such &lt;client&gt;", "did not happen: the run ended before", "1.911 s", "12.001 s", `redis-1 (master) &lt;is&gt;`} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not say %q", want)
		}
	}
	if strings.Contains(text, "<b>bold</b>") || strings.Contains(text, "<is>") {
		t.Error("what a scenario or a server says became markup")
	}
}

// The page uses no network: its only addresses are those of its files, and of a namespace.
func TestPageNeedsNoNetwork(t *testing.T) {
	text := pageOf(t, failoverBundle(t))
	for _, found := range regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^"' <]*`).FindAllString(text, -1) {
		if found != "http://www.w3.org/2000/svg" {
			t.Errorf("the page names %s", found)
		}
	}
	for _, href := range regexp.MustCompile(`(?:href|src)="([^"#][^"]*)"`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(href[1], ":") || strings.HasPrefix(href[1], "/") {
			t.Errorf("a link leads out of the folder: %s", href[1])
		}
	}
}

// With many events and locks, the page stays below two megabytes, reports omitted events, and keeps the operations of the
// two holders.
func TestPageIsThinned(t *testing.T) {
	dir := bundle(t, failover(25000), "a", "b", "c/d=1", "d", "e", "f", "g", "h", "i", "j", "k", "l")
	text := pageOf(t, dir)
	if size := len(text); size > 2<<20 {
		t.Errorf("the page has %d bytes", size)
	}
	if strings.Count(text, "thinned: ") < 12 {
		t.Error("it does not say that it is thinned")
	}
	for _, want := range []string{"session 3.1 holds", "session 5.1 holds"} {
		if strings.Count(text, want) < 12 {
			t.Errorf("%q was thinned away", want)
		}
	}
	if !strings.Contains(text, `href="c%2Bd=1/history.jsonl"`) {
		t.Error("the link to the history of c/d=1 does not lead to its folder")
	}
}

// The number of elements has a limit for any number of events, faults, steps and locks, because elements make browsers slow.
// BenchmarkPageOpens measures the time.
func TestPageHasFewElements(t *testing.T) {
	s := &events{}
	steps := 0
	for episode := range 400 {
		at := 10_000 * episode
		s.probe(at, history.Episode{Number: episode + 1})
		for i := range 5 { // one fault that comes and goes, and one that outlasts it
			steps++
			s.fault(at+100+i, steps, "cut", history.Begins, "", "redis-1")
			s.fault(at+100+i, steps, "cut", history.Bites, "redis-1 is cut off", "redis-1")
			s.fault(at+100+i, steps, "cut", history.Healed, "redis-1 is whole", "redis-1")
			s.probe(at+100+i, history.Promoted{Node: fmt.Sprintf("redis-%d", i)})
		}
		for i := range 4 {
			session := fmt.Sprintf("1.%d.%d", episode, i)
			s.granted(at+1000+4*i, 1, session, "a")
			s.released(at+1002+4*i, 1, session)
		}
	}
	// The counterexample covers the whole run: the first holder writes again at the end.
	s.granted(10, 3, "3.1", "a")
	s.writes(4_000_000, 3, "3.1", 1)
	s.released(4_000_010, 3, "3.1")
	slices.SortStableFunc(s.all, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range s.all {
		s.all[i].Index = i
	}
	of := []string{"a", "b"}
	dir := bundleOf(t, s.all, stepsOf(steps, 5), of...)
	text := pageOf(t, dir)
	elements := len(regexp.MustCompile("<[a-z]").FindAllString(text, -1))
	t.Logf("%d events, %d bytes, %d elements", len(of)*len(s.all), len(text), elements)
	if elements > 2500*len(of) {
		t.Errorf("the page of %d events has %d elements", len(of)*len(s.all), elements)
	}
	if len(text) > len(of)<<18 {
		t.Errorf("it has %d bytes", len(text))
	}
	for _, want := range []string{"more; the history has all", "that concern neither of the two holders"} {
		if strings.Count(text, want) < len(of) {
			t.Errorf("it does not say %q of each lock", want)
		}
	}
}

// If a history is missing or damaged, the page reports it and lacks only the drawings.
func TestPageWithoutHistories(t *testing.T) {
	dir := failoverBundle(t)
	path := filepath.Join(dir, "set-nx", report.HistoryFile)
	if err := os.WriteFile(path, []byte("no history\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	if text := pageOf(t, dir); !strings.Contains(text, "could not be read") || !strings.Contains(text, "double-grant") {
		t.Error("a broken history is not said, or took the verdict with it")
	}
}

func TestWriteWithoutAResult(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "set-nx"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "set-nx", report.HistoryFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := WriteTo(dir)
	if _, missing := os.Stat(filepath.Join(dir, File)); err == nil || missing == nil {
		t.Errorf("got %v, and a page", err)
	}
}

// Failover returns the bug of these tests for tests of other pages.
func Failover() []history.Event { return failover(0) }

// The badge of a lock is about the expectation. A lock that is undecided or still runs has none.
func TestUnexpectedBadge(t *testing.T) {
	for _, c := range []struct {
		lock  report.Lock
		soFar bool
		want  bool
	}{
		{lock: report.Lock{Verdict: checker.Violated}, want: true},
		{lock: report.Lock{Verdict: checker.Violated}, soFar: true},
		{lock: report.Lock{Verdict: checker.Violated, AsExpected: true}},
		{lock: report.Lock{Verdict: checker.Valid, Error: "no server"}, want: true},
		{lock: report.Lock{Verdict: checker.Unknown}},
		{lock: report.Lock{Verdict: checker.Unknown, Unsupported: "not here", Named: true}},
	} {
		if got := draw(&c.lock, nil, 1, c.soFar).Unexpected; got != c.want {
			t.Errorf("%+v, so far %t: %t", c.lock, c.soFar, got)
		}
	}
}
