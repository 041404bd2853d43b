package page_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"lockbench/checker"
	"lockbench/internal/campaign"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
	"lockbench/internal/testing/browsertest"
)

// The page of a matrix keeps the same rules as that of a run. It is tested here, next to the browser.
func TestMatrixPageInABrowser(t *testing.T) {
	c, err := campaign.Create(t.TempDir(), campaign.Settings{Seed: 7, Started: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), Again: "lockbench matrix --world sim --seed 7"},
		[]campaign.World{{World: "sim", Jobs: []campaign.Job{
			{Scenario: "failover", Locks: []string{"set-nx", "redlock"}, Episodes: 3}, {Scenario: "never", Locks: []string{"redlock"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	lock := func(name string, v checker.Verdict, c checker.Class, broke int) report.Lock {
		return report.Lock{Lock: name, Topology: "sentinel", Verdict: v, Class: c, AsExpected: true,
			Figures: stats.Figures{Episodes: 3, ViolatingEpisodes: broke, Rate: stats.RateOf(broke, 3)}}
	}
	run := func(_ context.Context, p campaign.Run, out string) error {
		if p.Scenario == "never" {
			return context.DeadlineExceeded
		}
		b, err := report.Create(out, p.Scenario, time.Now(), p.Seed)
		if err != nil {
			return err
		}
		r := &report.Result{Schema: report.SchemaVersion, Scenario: p.Scenario, World: "sim", Seed: p.Seed,
			Locks: []report.Lock{lock("set-nx", checker.Violated, checker.DoubleGrant, 3), lock("redlock", checker.Valid, checker.NoClass, 0)}}
		if err := b.WriteReports(r); err != nil {
			return err
		}
		return page.WriteTo(b.Dir)
	}
	table, err := c.Run(t.Context(), campaign.Work{Worlds: map[string]campaign.Runner{"sim": {Do: run}}})
	if err == nil {
		t.Fatal("one of the two rows fails, and no error says so")
	}
	b := browsertest.Start(t)
	b.Do(t, chromedp.Navigate("file://"+filepath.ToSlash(table.Page())))
	if got := b.Text(t, "#outcome"); got != "as expected, but not all runs were done" {
		t.Errorf("the outcome reads %q", got)
	}
	if got := b.Text(t, ".warning"); got != "never, world sim: 1 of 1 run not run: a run failed: never, seed 7: context deadline exceeded." {
		t.Errorf("what was not run reads %q", got)
	}
	cells := browsertest.JS[[]string](t, b, `[...document.querySelectorAll(".heat td")].map(e=>e.innerText.replace(/\s+/g," ").trim())`)
	want := []string{"● 3/3 double grant", "○ 0/3 held", "", "… not run"}
	for i, w := range want {
		if len(cells) != len(want) || cells[i] != w {
			t.Fatalf("the cells read %q, want %q", cells, want)
		}
	}
	// The names of two locks do not need a header that is much taller than they are.
	if empty := browsertest.JS[float64](t, b, `(() => { const heads = [...document.querySelectorAll("th.lockname")]; return heads[0].getBoundingClientRect().height - Math.max(...heads.map(h => h.querySelector("span").getBoundingClientRect().height)); })()`); empty > 20 {
		t.Errorf("%.0f pixels of the header are empty", empty)
	}
	for _, s := range browsertest.Screens {
		b.On(t, s)
		b.Accessible(t)
	}
	// A cell links to the lock on the page of its run.
	b.Do(t, chromedp.Click(".heat td.bad a", chromedp.ByQuery), chromedp.WaitVisible("#lock-set-nx", chromedp.ByQuery))
	b.Calm(t)
}
