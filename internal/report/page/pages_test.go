package page_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/report/index"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// lockOf returns a lock that was violated or valid in three episodes.
func lockOf(name string, v checker.Verdict, c checker.Class, change func(*report.Lock)) report.Lock {
	l := report.Lock{Lock: name, Topology: "single", Verdict: v, Class: c, AsExpected: true, Expected: "any", Figures: stats.Figures{Episodes: 3}}
	if v == checker.Violated {
		l.ViolatingEpisodes = 3
	}
	l.Rate = stats.RateOf(l.ViolatingEpisodes, 3)
	if change != nil {
		change(&l)
	}
	return l
}

// runOf writes a run without histories.
func runOf(t testing.TB, out, scenario string, seed uint64, all ...report.Lock) {
	t.Helper()
	began := time.Date(2026, 11, 21, 2, 0, int(seed), 0, time.UTC)
	b, err := report.Create(out, scenario, began, seed)
	if err != nil {
		t.Fatal(err)
	}
	r := &report.Result{Schema: report.SchemaVersion, Scenario: scenario, World: "sim", Seed: seed, Started: began, Locks: all}
	if err := b.WriteReports(r); err != nil {
		t.Fatal(err)
	}
	if err := page.WriteTo(b.Dir); err != nil {
		t.Fatal(err)
	}
}

func TestIndexInABrowser(t *testing.T) {
	root := t.TempDir()
	control := lockOf("no-lock", checker.Violated, checker.DoubleGrant, func(l *report.Lock) { l.Topology = locks.None })
	runOf(t, root, "failover", 1, control, lockOf("set-nx", checker.Violated, checker.DoubleGrant, nil))
	runOf(t, root, "pause-client", 2, control, lockOf("set-nx", checker.Violated, checker.Overstay, func(l *report.Lock) { l.AsExpected = false }))
	runOf(t, root, "steady", 3, control, lockOf("a-lock-with-a-very-long-name/and=options", checker.Valid, checker.NoClass, nil), lockOf("redlock", checker.Unknown, checker.NoClass, nil))
	if err := index.Write(root); err != nil {
		t.Fatal(err)
	}
	b := page.OpenBrowser(t)
	const shown = `[...document.querySelectorAll("#runs tr")].filter(r => r.getClientRects().length).map(r => r.dataset.scenario).join(" ")`
	for _, s := range page.Screens {
		t.Run(s.String(), func(t *testing.T) {
			b.On(t, s)
			b.Open(t, filepath.Join(root, index.File))
			b.Readable(t)
			if cut := page.JS[int](t, b, `[...document.querySelectorAll(".lock")].filter(e => e.getBoundingClientRect().right > innerWidth).length`); cut > 0 {
				t.Errorf("%d verdicts are cut", cut)
			}
			expect := func(what, want string) {
				t.Helper()
				if got := page.JS[string](t, b, shown); got != want {
					t.Errorf("%s shows %q, want %q", what, got, want)
				}
			}
			expect("the page", "steady pause-client failover")
			// With the keyboard: Tab moves from the text through the choices in their order.
			b.Do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("set-nx OVERSTAY"))
			expect("the text", "pause-client")
			if got := b.Text(t, "#count"); got != "1 of 3 runs" {
				t.Errorf("the count reads %q", got)
			}
			for range len("set-nx OVERSTAY") {
				b.Do(t, chromedp.KeyEvent(kb.Backspace))
			}
			b.Do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("f"))
			expect("scenario failover", "failover")
			b.Do(t, chromedp.KeyEvent("a"), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("u"))
			expect("verdict unknown", "steady")
			b.Do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("n"))
			expect("verdict unknown, not as expected", "")
			b.Do(t, chromedp.WaitVisible("#none", chromedp.ByQuery), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("\r"))
			b.Do(t, chromedp.WaitNotVisible("#none", chromedp.ByQuery))
			expect("Show all", "steady pause-client failover")
			// The next element is the first run, which links to its report.
			b.Do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("\r"), chromedp.WaitVisible("#outcome", chromedp.ByQuery))
		})
	}
	b.Calm(t)
}
