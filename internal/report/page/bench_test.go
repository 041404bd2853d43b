package page

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"lockbench/internal/testing/browsertest"
)

// BenchmarkPageOpens measures the time in which a browser loads and paints a page, and the processor time of its main thread,
// which does not depend on other load. The page has six locks with 100,000 events each, or shows the run in the folder
// LOCKBENCH_BUNDLE.
func BenchmarkPageOpens(b *testing.B) {
	dir := os.Getenv("LOCKBENCH_BUNDLE")
	if dir == "" {
		dir = bundle(b, failover(25_000), "a", "b", "c", "d", "e", "f")
	}
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil {
		b.Fatal(err)
	}
	address := "file://" + filepath.ToSlash(filepath.Join(dir, File))
	browser := browsertest.Start(b)
	browser.Do(b, performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	type opened struct{ Loaded, Painted, Nodes float64 } // in milliseconds since it was asked for
	sum := map[string]float64{}
	for range b.N {
		browser.Do(b, chromedp.Navigate("about:blank"))
		before := busy(b, browser)
		browser.Do(b, chromedp.Navigate(address))
		o := browsertest.JS[opened](b, browser, `new Promise(done => requestAnimationFrame(() => setTimeout(() => done({
			Loaded: performance.getEntriesByType("navigation")[0].loadEventEnd,
			Painted: Math.max(...performance.getEntriesByType("paint").map(p => p.startTime)),
			Nodes: document.getElementsByTagName("*").length}))))`)
		after := busy(b, browser)
		sum["ms-loaded"] += o.Loaded
		sum["ms-painted"] += o.Painted
		sum["nodes"] += o.Nodes
		for name := range after {
			sum[name] += 1e3 * (after[name] - before[name])
		}
	}
	for name, of := range sum {
		b.ReportMetric(of/float64(b.N), name)
	}
	b.ReportMetric(float64(info.Size())/1e3, "kB")
	b.ReportMetric(0, "ns/op")
}

// busy returns the processor time of the main thread of the page's process in seconds.
func busy(b *testing.B, browser *browsertest.Browser) map[string]float64 {
	b.Helper()
	all := map[string]float64{}
	browser.Do(b, chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			switch m.Name {
			case "TaskDuration", "LayoutDuration", "RecalcStyleDuration", "ScriptDuration":
				all["ms-"+m.Name] = m.Value
			}
		}
		return err
	}))
	return all
}
