package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"lockbench/internal/history"
	"lockbench/internal/testing/browsertest"
)

// cut lists the elements of a kind whose text is wider than the element or the screen.
func cut(selector string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => { const r = e.getBoundingClientRect(); return r.right > innerWidth || r.left < 0 || e.scrollWidth > e.clientWidth + 1; }).map(e => e.textContent)`, selector)
}

func TestRunPageOnScreens(t *testing.T) {
	dir := failoverBundle(t)
	b := browsertest.Start(t)
	for _, s := range browsertest.Screens {
		t.Run(s.String(), func(t *testing.T) {
			b.On(t, s)
			b.Open(t, filepath.Join(dir, File))
			b.Readable(t)
			b.Accessible(t)
			for _, selector := range []string{".verdicts tbody td:nth-child(3)", ".verdicts tbody td:first-child", ".story .l", ".plan .step"} {
				if texts := browsertest.JS[[]string](t, b, cut(selector)); len(texts) > 0 {
					t.Errorf("%s is cut: %q", selector, texts)
				}
			}
			// The links to the locks stay in view and do not cover a lock.
			b.Do(t, chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight)`, nil))
			if !browsertest.JS[bool](t, b, `(() => { const r = document.querySelector(".contents a[href='#lock-set-nx']").getBoundingClientRect(); return r.top >= 0 && r.bottom < 80; })()`) {
				t.Error("at the end of the page, the links to the locks are out of view")
			}
			b.Do(t, chromedp.Focus(".contents a[href='#lock-set-nx']", chromedp.ByQuery), chromedp.KeyEvent("\r"))
			if !browsertest.JS[bool](t, b, `new Promise(done => requestAnimationFrame(() => { const h = document.getElementById("lock-set-nx").getBoundingClientRect(), n = document.querySelector(".contents").getBoundingClientRect(); done(h.top >= n.bottom - 1 && h.top < innerHeight / 2); }))`) {
				t.Error("the link does not lead to the lock by keyboard")
			}
		})
	}
	b.Calm(t)
}

// On a narrow screen the times of a story are next to the wrapped text, and each step of the plan has its own line.
func TestNarrowStoryAndPlan(t *testing.T) {
	dir := failoverBundle(t)
	b := browsertest.Start(t)
	b.On(t, browsertest.Screen{Width: 390})
	b.Open(t, filepath.Join(dir, File))
	if got := browsertest.JS[[]string](t, b, `[...document.querySelectorAll(".story .when")].filter(w => { const t = w.nextSibling.getBoundingClientRect(), r = w.getBoundingClientRect(); return r.right > t.left || r.height > 24; }).map(w => w.textContent)`); len(got) > 0 {
		t.Errorf("these times are not next to their text: %q", got)
	}
	if !browsertest.JS[bool](t, b, `[...document.querySelectorAll(".story .what")].some(w => w.getBoundingClientRect().height > 30)`) {
		t.Error("no line of the story wraps, so the test shows nothing")
	}
	if width := browsertest.JS[float64](t, b, `document.querySelector(".plan .step").getBoundingClientRect().width`); width < 250 {
		t.Errorf("a step has %.0f pixels", width)
	}
	if !browsertest.JS[bool](t, b, `[...document.querySelectorAll(".plan tbody tr")].every(tr => tr.querySelector(".step").getBoundingClientRect().bottom <= tr.querySelector("td").getBoundingClientRect().top)`) {
		t.Error("the times do not stand below the step")
	}
	b.Calm(t)
}

func TestTicksAfterResize(t *testing.T) {
	dir := failoverBundle(t)
	b := browsertest.Start(t)
	const overlapping = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
		const bad = [];
		document.querySelectorAll("svg.time,svg.ticks").forEach(svg => {
			const all = [...svg.querySelectorAll(".tick text, :scope > text")].filter(e => getComputedStyle(e).visibility === "visible").map(e => [e.getBoundingClientRect(), e.textContent]).sort((a, b) => a[0].left - b[0].left);
			if (!all.length) { bad.push("no labels"); }
			for (let i = 1; i < all.length; i++) { if (all[i][0].left < all[i - 1][0].right) { bad.push(all[i - 1][1] + " and " + all[i][1]); } }
		});
		done(bad);
	})))`
	b.On(t, browsertest.Screen{Width: 1300})
	b.Open(t, filepath.Join(dir, File))
	for _, width := range []int64{1300, 390, 844, 390} {
		b.On(t, browsertest.Screen{Width: width})
		if bad := browsertest.JS[[]string](t, b, overlapping); len(bad) > 0 {
			t.Errorf("at %d pixels: %q", width, bad)
		}
	}
	b.Calm(t)
}

// Labels of faults do not lie over each other, and those of short faults are not shown.
func TestLabelsOfShortFaults(t *testing.T) {
	s := &events{}
	s.probe(0, history.Episode{Number: 1})
	for i, length := range []int{1000, 5, 5, 5, 400, 400} {
		at := []int{100, 1200, 1210, 1220, 1400, 1420}[i]
		for phase, when := range map[string]int{history.Begins: at, history.Bites: at, history.Healed: at + length} {
			s.fault(when, i+1, "isolate", phase, "redis-1 cut off", "redis-1")
		}
	}
	s.granted(50, 3, "3.1", "a")
	s.granted(300, 5, "5.1", "a")
	s.writes(1900, 3, "3.1", 1)
	s.released(1990, 3, "3.1")
	slices.SortStableFunc(s.all, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range s.all {
		s.all[i].Index = i
	}
	dir := bundleOf(t, s.all, stepsOf(6, 6), "set-nx")
	b := browsertest.Start(t)
	const overlapping = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
		const bad = [], svg = document.querySelector("section.lock > .timeline svg.time");
		const all = [...svg.querySelectorAll("text.on")].filter(e => getComputedStyle(e).visibility === "visible").map(e => e.getBoundingClientRect());
		if (!all.length) { bad.push("no labels"); }
		all.forEach((a, i) => all.slice(i + 1).forEach(b => { if (a.top < b.bottom && b.top < a.bottom && a.left < b.right && b.left < a.right) { bad.push(a.left + " and " + b.left); } }));
		done(bad);
	})))`
	for _, width := range []int64{1300, 390} {
		b.On(t, browsertest.Screen{Width: width})
		b.Open(t, filepath.Join(dir, File))
		if bad := browsertest.JS[[]string](t, b, overlapping); len(bad) > 0 {
			t.Errorf("at %d pixels: %q", width, bad)
		}
	}
	b.Calm(t)
}

// A drawing has a label for screen readers, and a link to its counterexample.
func TestTimelineHasALabel(t *testing.T) {
	dir := failoverBundle(t)
	b := browsertest.Start(t)
	b.Open(t, filepath.Join(dir, File))
	want := "Timeline of "
	for _, label := range browsertest.JS[[]string](t, b, `[...document.querySelectorAll("svg.time")].map(s => s.getAttribute("role") === "img" && document.getElementById(s.getAttribute("aria-describedby"))?.classList.contains("story") ? s.getAttribute("aria-label") : "none")`) {
		if len(label) < len(want) || label[:len(want)] != want {
			t.Errorf("a timeline is labelled %q", label)
		}
	}
}
