package page

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"lockbench/internal/testing/browsertest"
)

func TestPageInABrowser(t *testing.T) {
	dir := failoverBundle(t)
	b := browsertest.Start(t)
	b.Do(t, chromedp.Navigate("file://"+filepath.ToSlash(filepath.Join(dir, File))))

	// The verdict, and the command that repeats the run.
	if got := b.Text(t, "#outcome"); got != "1 lock violated, as expected" {
		t.Errorf("the outcome reads %q", got)
	}
	if got := b.Text(t, "#again"); got != "lockbench run failover --world sim --seed 7" {
		t.Errorf("the command reads %q", got)
	}
	if got := b.Text(t, "#verdicts tbody tr"); !strings.Contains(got, "double-grant") || !strings.Contains(got, "1 of 1") {
		t.Errorf("the lock's row reads %q", got)
	}
	// Every row links to an existing element.
	if broken := browsertest.JS[[]string](t, b, `[...document.querySelectorAll("#verdicts a")].map(a=>a.getAttribute("href")).filter(h=>!document.getElementById(h.slice(1)))`); len(broken) > 0 {
		t.Errorf("rows lead nowhere: %v", broken)
	}

	// The timeline shows the holders of "a" in the history, each with its begin and end.
	holds := browsertest.JS[[]string](t, b, `[...document.querySelectorAll("#lock-set-nx-timeline .hold title")].map(e=>e.textContent)`)
	want := []string{
		`client 3, session 3.1 holds "a" from 1.905 s to 7.330 s (released)`,
		`client 5, session 5.1 holds "a" from 4.213 s to 4.242 s (released)`,
	}
	for _, w := range want {
		if !slices.ContainsFunc(holds, func(h string) bool { return strings.Contains(h, w) && strings.Contains(h, "\nlines ") }) {
			t.Errorf("no bar says %s, with its lines; they say\n%s", w, strings.Join(holds, "\n"))
		}
	}
	meets := browsertest.JS[[]string](t, b, `[...document.querySelectorAll("#lock-set-nx-timeline .overlap title")].map(e=>e.textContent)`)
	if !slices.ContainsFunc(meets, func(m string) bool { return strings.Contains(m, "client 3 and client 5, from 4.213 s to 4.242 s") }) {
		t.Errorf("the overlap is not among %q", meets)
	}
	lanes := browsertest.JS[[]string](t, b, `[...document.querySelectorAll("#lock-set-nx-timeline .names text")].map(e=>e.textContent)`)
	for _, lane := range []string{"lag", "kill", "redis-1", "redis-2", "client 3", "client 5", "client 6"} {
		if !slices.Contains(lanes, lane) {
			t.Errorf("no lane for %s among %v", lane, lanes)
		}
	}
	// The position of a bar is proportional to its times, within a pixel.
	off := browsertest.JS[float64](t, b, `(()=>{const f=document.querySelector("#lock-set-nx-timeline"),from=+f.dataset.from,to=+f.dataset.to;
		const bar=[...f.querySelectorAll(".hold")].find(e=>e.textContent.includes("session 3.1"));
		return Math.max(Math.abs(parseFloat(bar.getAttribute("x"))-100*(1905e6-from)/(to-from)),Math.abs(parseFloat(bar.getAttribute("width"))-100*(7330-1905)*1e6/(to-from)));})()`)
	if off > 0.01 {
		t.Errorf("the bar of session 3.1 is off by %.3f %% of the width", off)
	}

	// Hovering shows the text of a bar, and zooming widens the drawing.
	browsertest.JS[bool](t, b, `document.querySelector("#lock-set-nx-timeline .overlap").dispatchEvent(new MouseEvent("mouseover",{bubbles:true}))`)
	if got := b.Text(t, "#lock-set-nx-timeline .detail"); !strings.HasPrefix(got, `both hold "a"`) {
		t.Errorf("hovering over the overlap tells %q", got)
	}
	width := `document.querySelector("#lock-set-nx-timeline svg.time").getBoundingClientRect().width`
	before := browsertest.JS[float64](t, b, width)
	b.Do(t, chromedp.Click(`#lock-set-nx-timeline .zoom button[aria-label="Zoom in"]`, chromedp.ByQuery))
	if after := browsertest.JS[float64](t, b, width); after < 1.9*before {
		t.Errorf("zoomed in, the drawing is %.0f pixels wide after %.0f", after, before)
	}
	b.Calm(t)
}

// Without scripts, only the texts of hovering and the zoom are missing.
func TestPageWithoutScripts(t *testing.T) {
	dir := failoverBundle(t)
	b := browsertest.Start(t)
	b.Do(t, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate("file://"+filepath.ToSlash(filepath.Join(dir, File))))
	for selector, want := range map[string]string{"#outcome": "1 lock violated, as expected", ".story": "both hold from", "#limits": "weak evidence", "#provenance": "lockbench check"} {
		if got := b.Text(t, selector); !strings.Contains(got, want) {
			t.Errorf("%s reads %q, want %q in it", selector, got, want)
		}
	}
	b.Calm(t)
}
