package page_test

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/report/site"
	"lockbench/internal/testing/browsertest"
	"lockbench/internal/testing/historytest"
	"lockbench/locks"
)

// siteOf serves a folder for a browser.
func siteOf(t testing.TB, root string, o site.Options) (*browsertest.Browser, string) {
	t.Helper()
	o.Root = root
	o.Judge = func(_ string, h *history.History) (report.Lock, error) {
		return report.NewLock(h, checker.Judge(h, checker.Options{})), nil
	}
	s, err := site.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = s.Close()
	})
	b := browsertest.Start(t)
	b.Visits(server.URL)
	return b, server.URL
}

// await waits until an expression is true.
func await(t *testing.T, b *browsertest.Browser, expression string) {
	t.Helper()
	if err := chromedp.Run(b, chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(time.Minute))); err != nil {
		t.Fatalf("%s: %v; the page reads\n%s", expression, err, b.Text(t, "body"))
	}
}

func TestSiteInABrowser(t *testing.T) {
	root := t.TempDir()
	control := lockOf("no-lock", checker.Violated, checker.DoubleGrant, func(l *report.Lock) { l.Topology = locks.None })
	broken := lockOf("set-nx", checker.Violated, checker.DoubleGrant, nil)
	held := lockOf("set-nx", checker.Valid, checker.NoClass, nil)
	runOf(t, root, "failover", 1, control, broken)
	runOf(t, root, "failover", 2, control, held)
	runOf(t, root, "steady", 3, control, held, lockOf("redlock/nodes=3", checker.Valid, checker.NoClass, nil))
	// A long name, and a run that cannot be read.
	runOf(t, root, "odd", 4, lockOf("a-lock-with-a-very-long-name/and=options", checker.Valid, checker.NoClass, nil))
	bundle, err := report.Create(root, "odd", time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.WriteText(filepath.Join(bundle.Dir, report.ResultFile), []byte("{")); err != nil {
		t.Fatal(err)
	}
	b, at := siteOf(t, root, site.Options{})
	const shown = `[...document.querySelectorAll("#runs tr")].filter(r => r.getClientRects().length).map(r => r.dataset.scenario + r.querySelector("td.right")?.textContent).join(" ")`
	for _, s := range browsertest.Screens {
		t.Run(s.String(), func(t *testing.T) {
			b.On(t, s)
			b.Do(t, chromedp.Navigate(at+"/"))
			b.Readable(t)
			b.Accessible(t)
			b.Shot(t, "list", s)
			if cut := browsertest.JS[int](t, b, `[...document.querySelectorAll(".lock")].filter(e => e.getBoundingClientRect().right > innerWidth).length`); cut > 0 {
				t.Errorf("%d verdicts are cut", cut)
			}
			// With the keyboard: the filter comes first.
			b.Do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("SET-nx"))
			if got := browsertest.JS[string](t, b, shown); got != "steady3 failover2 failover1" {
				t.Errorf("of lock set-nx it shows %q", got)
			}
			// The control was violated in all of them: the lock itself must be valid.
			b.Do(t, chromedp.KeyEvent(" valid"))
			if got := browsertest.JS[string](t, b, shown); got != "steady3 failover2" {
				t.Errorf("of lock set-nx, valid, it shows %q", got)
			}
			b.Do(t, chromedp.KeyEvent(", failover"))
			if got, count := browsertest.JS[string](t, b, shown), b.Text(t, "#count"); got != "failover2" || count != "1 of 5 runs" {
				t.Errorf("of failover it shows %q, %s", got, count)
			}
			b.Do(t, chromedp.KeyEvent("x"), chromedp.WaitVisible("#none", chromedp.ByQuery), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("\r"),
				chromedp.WaitNotVisible("#none", chromedp.ByQuery))
			// An address may have the filter. A verdict links to the report.
			b.Do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(at+"/#text=set-nx"), chromedp.WaitVisible("#runs", chromedp.ByQuery))
			if got := browsertest.JS[string](t, b, `document.getElementById("text").value`); got != "set-nx" {
				t.Errorf("the list has the filter %q", got)
			}
			b.Do(t, chromedp.Click(`#runs tr:not([hidden]) a.verdict-bad`, chromedp.ByQuery), chromedp.WaitVisible("#outcome", chromedp.ByQuery))
			if got := browsertest.JS[string](t, b, `location.pathname + location.hash`); !strings.HasSuffix(got, "report.html#lock-set-nx") {
				t.Errorf("the verdict leads to %s", got)
			}
		})
	}
	b.Calm(t)
}

// The runs of a matrix have a list of their own, which the filter opens, and an undecided lock has its own sign.
func TestListOfRunsWithAMatrix(t *testing.T) {
	root := t.TempDir()
	runOf(t, root, "failover", 1, lockOf("set-nx", checker.Violated, checker.DoubleGrant, func(l *report.Lock) { l.AsExpected = false }),
		lockOf("redlock", checker.Unknown, checker.NoClass, func(l *report.Lock) { l.AsExpected = false }))
	for i, world := range []string{"sim", "local"} {
		runOf(t, filepath.Join(root, "matrix", "20261121-020000-7", world), "steady", uint64(2+i), lockOf("set-nx", checker.Valid, checker.NoClass, nil))
	}
	b, at := siteOf(t, root, site.Options{})
	b.Do(t, chromedp.Navigate(at+"/"), chromedp.WaitVisible("#runs", chromedp.ByQuery))
	b.Readable(t)
	b.Accessible(t)
	const shown = `[...document.querySelectorAll(".runs tbody tr")].filter(r => r.checkVisibility()).map(r => r.dataset.scenario).join(" ")`
	if got := browsertest.JS[string](t, b, shown); got != "failover" {
		t.Errorf("the list of single runs has %q", got)
	}
	if got := browsertest.JS[[]string](t, b, `[...document.querySelectorAll("#runs .lock")].map(e => e.innerText)`); strings.Join(got, ", ") != "✗ set-nx violated double-grant, ? redlock unknown" {
		t.Errorf("its locks read %q", got)
	}
	if got := b.Text(t, ".matrix summary"); got != "matrix/20261121-020000-7 as expected 2 runs" {
		t.Errorf("the matrix reads %q", got)
	}
	b.Do(t, chromedp.SendKeys("#text", "steady", chromedp.ByQuery))
	if got, count := browsertest.JS[string](t, b, shown), b.Text(t, "#count"); got != "steady steady" || count != "2 of 3 runs" {
		t.Errorf("of steady it shows %q, %s", got, count)
	}
	b.Calm(t)
}

// The page of a run in progress shows the history so far, and then new events.
func TestRunUnderWayInABrowser(t *testing.T) {
	root := t.TempDir()
	bundle, err := report.Create(root, "failover", time.Date(2026, 11, 21, 11, 40, 0, 0, time.UTC), 7)
	if err != nil {
		t.Fatal(err)
	}
	release, err := bundle.Claim()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { release() }()
	if err := bundle.WritePlan([]byte("seed: 7\n")); err != nil {
		t.Fatal(err)
	}
	plan := []history.PlanStep{{ID: 1, Fault: "lag", Episode: 1, Text: "lag master -> replicas"}, {ID: 2, Fault: "kill", Episode: 1, Text: "kill <master>"}}
	all := page.Failover()
	file, err := bundle.CreateHistory("set-nx")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h, err := history.Build(history.Header{Scenario: "failover", Lock: "set-nx", Topology: "sentinel", World: "sim", Seed: 7, Plan: plan, Started: time.Now()}, all)
	if err != nil {
		t.Fatal(err)
	}
	text, err := historytest.Encode(h)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	write := func(from, to int) {
		if _, err := file.WriteString(strings.Join(lines[from:to], "")); err != nil {
			t.Fatal(err)
		}
	}
	at := func(what string) int {
		for i, line := range lines {
			if strings.Contains(line, what) {
				return i + 1
			}
		}
		t.Fatalf("no line has %s", what)
		return 0
	}
	killed, quiet := at(`"f":"kill","step":2,"targets":["redis-1"],"phase":"bites"`), len(lines)
	write(0, killed)
	b, site := siteOf(t, root, site.Options{})
	b.On(t, browsertest.Screens[2])
	b.Do(t, chromedp.Navigate(site+"/"), chromedp.Click("#live a", chromedp.ByQuery), chromedp.WaitVisible("#lock-set-nx", chromedp.ByQuery))
	if got := b.Text(t, "#outcome"); got != "in progress" {
		t.Errorf("the outcome reads %q", got)
	}
	await(t, b, `document.querySelector(".remark")?.textContent.includes('episode 1; redis-2 and redis-3 hear nothing more from redis-1; redis-1 (master) <is> "gone"')`)
	if got := b.Text(t, ".plan tbody"); !strings.Contains(got, "1.602 s") || !strings.Contains(got, "1.911 s") {
		t.Errorf("the plan reads %q", got)
	}
	if got := browsertest.JS[int](t, b, `document.querySelectorAll("#lock-set-nx-timeline .held").length`); got != 2 {
		t.Errorf("%d holds are drawn, want that of client 1 and that of client 3", got)
	}
	if got := b.Text(t, "#verdicts tbody"); !strings.Contains(got, "nothing so far") || browsertest.JS[bool](t, b, `!!document.querySelector(".story")`) {
		t.Errorf("before the violation, the verdicts read %q", got)
	}
	b.Do(t, chromedp.Evaluate(`document.querySelector("h1").dataset.kept = "yes"`, nil))
	// The recovery period begins, so that the episode is judged.
	write(killed, quiet)
	probe := history.Probed(history.QuietBegins)
	probe.Index, probe.Time = len(all), 12300*time.Millisecond
	line, err := history.AppendEvent(nil, &probe)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(strings.TrimSuffix(string(line), "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
	await(t, b, `document.querySelector(".story")?.textContent.includes("both hold from")`)
	await(t, b, `document.querySelector("#lock-set-nx .badge").textContent === "violated double-grant" && document.querySelector(".remark").textContent.includes("recovery period")`)
	if !browsertest.JS[bool](t, b, `document.querySelector("h1").dataset.kept === "yes"`) {
		t.Error("an update replaced a part of the page that had not changed")
	}
	// A replaced part of the page keeps its controls.
	b.Do(t, chromedp.Click(`#lock-set-nx-timeline .zoom button[aria-label="Zoom in"]`, chromedp.ByQuery))
	// Another lock begins.
	other, err := bundle.CreateHistory("redlock")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.WriteString(strings.Replace(lines[0], "set-nx", "redlock", 1) + strings.Join(lines[1:8], "")); err != nil {
		t.Fatal(err)
	}
	await(t, b, `document.getElementById("lock-redlock")`)
	for _, s := range browsertest.Screens {
		b.On(t, s)
		b.Readable(t)
		b.Accessible(t)
		b.Shot(t, "live", s)
	}
	// The run ends, and its report replaces the page.
	if err := bundle.WriteResult(&report.Result{Schema: report.SchemaVersion, Scenario: "failover", World: "sim"}); err != nil {
		t.Fatal(err)
	}
	if err := page.WriteTo(bundle.Dir); err != nil {
		t.Fatal(err)
	}
	b.Do(t, chromedp.WaitVisible(`a[href="result.json"]`, chromedp.ByQuery))
	b.Calm(t)
}

// A run that was killed has no process, and its page says so.
func TestRunThatWasKilledInABrowser(t *testing.T) {
	root := t.TempDir()
	bundle, err := report.Create(root, "failover", time.Date(2026, 11, 21, 11, 40, 0, 0, time.UTC), 7)
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.WritePlan([]byte("seed: 7\n")); err != nil {
		t.Fatal(err)
	}
	b, at := siteOf(t, root, site.Options{})
	b.Do(t, chromedp.Navigate(at+"/"))
	if got := b.Text(t, "#live"); !strings.Contains(got, "ended without a result") || !strings.Contains(got, "lockbench report "+bundle.Dir) {
		t.Errorf("the list says %q", got)
	}
	b.Do(t, chromedp.Navigate(at+"/failover/"+filepath.Base(bundle.Dir)+"/report.html"))
	if got := b.Text(t, "header"); !strings.Contains(got, "ended without a result") || !strings.Contains(got, "lockbench report "+bundle.Dir) {
		t.Errorf("the page says %q", got)
	}
	b.Calm(t)
}

// BenchmarkListOpens opens the list of 2000 runs of ten locks each in a browser, until it is complete.
func BenchmarkListOpens(b *testing.B) {
	root := b.TempDir()
	var all []report.Lock
	for n := range 10 {
		all = append(all, lockOf(fmt.Sprintf("lock-%d", n), checker.Valid, checker.NoClass, nil))
	}
	for seed := range uint64(2000) {
		bundle, err := report.Create(root, "failover", time.Date(2026, 11, 21, 2, 0, int(seed), 0, time.UTC), seed)
		if err != nil {
			b.Fatal(err)
		}
		if err := bundle.WriteResult(&report.Result{Schema: report.SchemaVersion, Scenario: "failover", World: "sim", Seed: seed, Locks: all}); err != nil {
			b.Fatal(err)
		}
	}
	browser, at := siteOf(b, root, site.Options{})
	browser.Do(b, chromedp.Navigate(at+"/")) // the first time it reads every result
	for b.Loop() {
		browser.Do(b, chromedp.Navigate(at+"/"))
		b.ReportMetric(browsertest.JS[float64](b, browser, `performance.getEntriesByType("navigation")[0].loadEventStart`), "ms-to-load")
		b.ReportMetric(browsertest.JS[float64](b, browser, `performance.getEntriesByName("first-contentful-paint")[0].startTime`), "ms-to-paint")
	}
}
