package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
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

// Shot writes a picture of the page to LOCKBENCH_SHOTS, if that is set.
func (b *Browser) Shot(t testing.TB, name string, s Screen) {
	t.Helper()
	dir := os.Getenv("LOCKBENCH_SHOTS")
	if dir == "" {
		return
	}
	var png []byte
	b.Do(t, chromedp.FullScreenshot(&png, 100))
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s.png", name, strings.ReplaceAll(s.String(), " ", "-"))), png, 0o644); err != nil {
		t.Fatal(err)
	}
}
