package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"lockbench/internal/history"
)

// Screen is the size and the colour scheme of a display.
type Screen struct {
	Width int64
	Dark  bool
}

// Screens are a phone and a desktop, with light and dark colours.
var Screens = []Screen{{390, false}, {390, true}, {1300, false}, {1300, true}}

func (s Screen) String() string {
	scheme := map[bool]string{false: "light", true: "dark"}[s.Dark]
	return fmt.Sprintf("%d %s", s.Width, scheme)
}

// On sets the browser's screen.
func (b *Browser) On(t testing.TB, s Screen) {
	t.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[s.Dark]
	b.Do(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		emulation.SetDeviceMetricsOverride(s.Width, 844, 1, false))
}

// Open opens a file.
func (b *Browser) Open(t testing.TB, path string) {
	t.Helper()
	b.Do(t, chromedp.Navigate("file://"+filepath.ToSlash(path)))
}

// faint lists the texts of the page, including drawings, with a contrast below 4.5.
const faint = `(() => {
	const paint = c => { const m = c.match(/[\d.]+/g); return m ? [+m[0], +m[1], +m[2], m.length > 3 ? +m[3] : 1] : [0, 0, 0, 0]; };
	const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = e => { const layers = []; for (; e; e = e.parentElement) { layers.push(paint(getComputedStyle(e).backgroundColor)); }
		return layers.reverse().reduce((under, c) => over(c, under), matchMedia("(prefers-color-scheme:dark)").matches ? [20, 23, 28, 1] : [255, 255, 255, 1]); };
	const bad = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; n = walker.nextNode();) {
		const e = n.parentElement;
		if (!n.textContent.trim() || !e.getClientRects().length || ["SCRIPT", "TITLE", "title", "OPTION"].includes(e.tagName)) { continue; }
		const s = getComputedStyle(e), ground = behind(e), ink = over(paint(e instanceof SVGElement ? s.fill : s.color), ground);
		const a = light(ink.slice(0, 3)), b = light(ground.slice(0, 3)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		let opacity = 1; for (let p = e; p; p = p.parentElement) { opacity *= +getComputedStyle(p).opacity; }
		if (ratio < 4.5 || opacity < 1) { bad.add(e.tagName + "." + e.getAttribute("class") + " " + ratio.toFixed(2) + " opacity " + opacity + ": " + n.textContent.trim().slice(0, 40)); }
	}
	return [...bad];
})()`

// Readable checks any page: it does not scroll sideways, has no faint text, labels all controls, and has one headline.
func (b *Browser) Readable(t testing.TB) {
	t.Helper()
	if wide := JS[int](t, b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		t.Errorf("the page is %d pixels wider than the screen", wide)
	}
	if texts := JS[[]string](t, b, faint); len(texts) > 0 {
		t.Errorf("faint texts: %q", texts)
	}
	if n := JS[int](t, b, `document.querySelectorAll("h1").length`); n != 1 {
		t.Errorf("%d elements h1", n)
	}
	if bare := JS[[]string](t, b, `[...document.querySelectorAll("input,select,button")].filter(e=>!e.labels?.length&&!e.textContent.trim()&&!e.ariaLabel).map(e=>e.outerHTML)`); len(bare) > 0 {
		t.Errorf("controls without a label: %q", bare)
	}
}

// cut lists the elements of a kind whose text is wider than the element or the screen.
func cut(selector string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => { const r = e.getBoundingClientRect(); return r.right > innerWidth || r.left < 0 || e.scrollWidth > e.clientWidth + 1; }).map(e => e.textContent)`, selector)
}

func TestRunPageOnScreens(t *testing.T) {
	dir := failoverBundle(t)
	b := OpenBrowser(t)
	for _, s := range Screens {
		t.Run(s.String(), func(t *testing.T) {
			b.On(t, s)
			b.Open(t, filepath.Join(dir, File))
			b.Readable(t)
			for _, selector := range []string{".verdicts tbody td:nth-child(3)", ".verdicts tbody td:first-child", ".story .l", ".plan .step"} {
				if texts := JS[[]string](t, b, cut(selector)); len(texts) > 0 {
					t.Errorf("%s is cut: %q", selector, texts)
				}
			}
			// The links to the locks stay in view and do not cover a lock.
			b.Do(t, chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight)`, nil))
			if !JS[bool](t, b, `(() => { const r = document.querySelector(".contents a[href='#lock-set-nx']").getBoundingClientRect(); return r.top >= 0 && r.bottom < 80; })()`) {
				t.Error("at the end of the page, the links to the locks are out of view")
			}
			b.Do(t, chromedp.Focus(".contents a[href='#lock-set-nx']", chromedp.ByQuery), chromedp.KeyEvent("\r"))
			if !JS[bool](t, b, `new Promise(done => requestAnimationFrame(() => { const h = document.getElementById("lock-set-nx").getBoundingClientRect(), n = document.querySelector(".contents").getBoundingClientRect(); done(h.top >= n.bottom - 1 && h.top < innerHeight / 2); }))`) {
				t.Error("the link does not lead to the lock by keyboard")
			}
		})
	}
	b.Calm(t)
}

// On a narrow screen the times of a story are next to the wrapped text, and each step of the plan has its own line.
func TestNarrowStoryAndPlan(t *testing.T) {
	dir := failoverBundle(t)
	b := OpenBrowser(t)
	b.On(t, Screen{Width: 390})
	b.Open(t, filepath.Join(dir, File))
	if got := JS[[]string](t, b, `[...document.querySelectorAll(".story .when")].filter(w => { const t = w.nextSibling.getBoundingClientRect(), r = w.getBoundingClientRect(); return r.right > t.left || r.height > 24; }).map(w => w.textContent)`); len(got) > 0 {
		t.Errorf("these times are not next to their text: %q", got)
	}
	if !JS[bool](t, b, `[...document.querySelectorAll(".story .what")].some(w => w.getBoundingClientRect().height > 30)`) {
		t.Error("no line of the story wraps, so the test shows nothing")
	}
	if width := JS[float64](t, b, `document.querySelector(".plan .step").getBoundingClientRect().width`); width < 250 {
		t.Errorf("a step has %.0f pixels", width)
	}
	if !JS[bool](t, b, `[...document.querySelectorAll(".plan tbody tr")].every(tr => tr.querySelector(".step").getBoundingClientRect().bottom <= tr.querySelector("td").getBoundingClientRect().top)`) {
		t.Error("the times do not stand below the step")
	}
	b.Calm(t)
}

func TestTicksAfterResize(t *testing.T) {
	dir := failoverBundle(t)
	b := OpenBrowser(t)
	const overlapping = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
		const bad = [];
		document.querySelectorAll("svg.time,svg.ticks").forEach(svg => {
			const all = [...svg.querySelectorAll(".tick text, :scope > text")].filter(e => getComputedStyle(e).visibility === "visible").map(e => [e.getBoundingClientRect(), e.textContent]).sort((a, b) => a[0].left - b[0].left);
			if (!all.length) { bad.push("no labels"); }
			for (let i = 1; i < all.length; i++) { if (all[i][0].left < all[i - 1][0].right) { bad.push(all[i - 1][1] + " and " + all[i][1]); } }
		});
		done(bad);
	})))`
	b.On(t, Screen{Width: 1300})
	b.Open(t, filepath.Join(dir, File))
	for _, width := range []int64{1300, 390, 844, 390} {
		b.On(t, Screen{Width: width})
		if bad := JS[[]string](t, b, overlapping); len(bad) > 0 {
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
	b := OpenBrowser(t)
	const overlapping = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
		const bad = [], svg = document.querySelector("section.lock > .timeline svg.time");
		const all = [...svg.querySelectorAll("text.on")].filter(e => getComputedStyle(e).visibility === "visible").map(e => e.getBoundingClientRect());
		if (!all.length) { bad.push("no labels"); }
		all.forEach((a, i) => all.slice(i + 1).forEach(b => { if (a.top < b.bottom && b.top < a.bottom && a.left < b.right && b.left < a.right) { bad.push(a.left + " and " + b.left); } }));
		done(bad);
	})))`
	for _, width := range []int64{1300, 390} {
		b.On(t, Screen{Width: width})
		b.Open(t, filepath.Join(dir, File))
		if bad := JS[[]string](t, b, overlapping); len(bad) > 0 {
			t.Errorf("at %d pixels: %q", width, bad)
		}
	}
	b.Calm(t)
}

// A drawing has a label for screen readers, and a link to its counterexample.
func TestTimelineHasALabel(t *testing.T) {
	dir := failoverBundle(t)
	b := OpenBrowser(t)
	b.Open(t, filepath.Join(dir, File))
	want := "Timeline of "
	for _, label := range JS[[]string](t, b, `[...document.querySelectorAll("svg.time")].map(s => s.getAttribute("role") === "img" && document.getElementById(s.getAttribute("aria-describedby"))?.classList.contains("story") ? s.getAttribute("aria-label") : "none")`) {
		if len(label) < len(want) || label[:len(want)] != want {
			t.Errorf("a timeline is labelled %q", label)
		}
	}
}
