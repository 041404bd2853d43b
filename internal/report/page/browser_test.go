package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"lockbench/internal/needs"
)

// Browser is a tab of a real browser without a network, and its error messages.
type Browser struct {
	context.Context

	mu       sync.Mutex
	troubles []string // errors on the console, exceptions, requests that are no files
	site     string   // which may be asked, too; empty: there is none
}

// Visits allows the pages of one site.
func (b *Browser) Visits(site string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.site = site
}

// OpenBrowser starts a browser if one is installed.
func OpenBrowser(t testing.TB) *Browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		needs.OrSkip(t, "browser", errors.New("no chromium or chrome is installed to open the page; install it with scripts/setup"))
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		// Every request to the network must fail.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("proxy-server", "http://127.0.0.1:9"),
		chromedp.WindowSize(1400, 1000), chromedp.WSURLReadTimeout(5*time.Minute), chromedp.UserDataDir(profile(t)))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // chromium refuses one to root
	}
	// Not the test's context: that ends before its cleanups, and would kill the browser
	// while its helpers still write into the profile.
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator, chromedp.WithErrorf(t.Logf))
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	b := &Browser{Context: ctx}
	t.Cleanup(func() {
		defer cancel()
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close the browser: %v", err)
		}
		stop()
		stopAllocator()
	})
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.trouble("exception: " + e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				b.trouble(fmt.Sprintf("console: %s %v", e.Type, e.Args))
			}
		case *log.EventEntryAdded:
			b.trouble("log: " + e.Entry.Text)
		case *network.EventRequestWillBeSent:
			b.mu.Lock()
			site := b.site
			b.mu.Unlock()
			if !strings.HasPrefix(e.Request.URL, "file://") && (site == "" || !strings.HasPrefix(e.Request.URL, site)) {
				b.trouble("asked the network for " + e.Request.URL)
			}
		}
	})
	if err := chromedp.Run(ctx, log.Enable(), network.Enable()); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return b
}

// profile returns a folder for a browser. It is removed after the end of the browser's helper processes, which may outlive the
// browser and write into it.
func profile(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockbench-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(dir)
		for limit := time.Now().Add(time.Minute); err != nil && time.Now().Before(limit); err = os.RemoveAll(dir) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("remove the browser's profile: %v", err)
		}
	})
	return dir
}

func (b *Browser) trouble(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.troubles = append(b.troubles, text)
}

// Calm fails the test if the browser reported an error.
func (b *Browser) Calm(t testing.TB) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.troubles {
		t.Error(text)
	}
}

// Do does some actions, which must succeed.
func (b *Browser) Do(t testing.TB, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// Text returns the text of an element.
func (b *Browser) Text(t testing.TB, selector string) string {
	t.Helper()
	var text string
	b.Do(t, chromedp.Text(selector, &text, chromedp.ByQuery))
	return text
}

// JS returns the value of an expression, or the result of a promise.
func JS[T any](t testing.TB, b *Browser, expression string) T {
	t.Helper()
	var v T
	b.Do(t, chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

func TestPageInABrowser(t *testing.T) {
	dir := failoverBundle(t)
	b := OpenBrowser(t)
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
	if broken := JS[[]string](t, b, `[...document.querySelectorAll("#verdicts a")].map(a=>a.getAttribute("href")).filter(h=>!document.getElementById(h.slice(1)))`); len(broken) > 0 {
		t.Errorf("rows lead nowhere: %v", broken)
	}

	// The timeline shows the holders of "a" in the history, each with its begin and end.
	holds := JS[[]string](t, b, `[...document.querySelectorAll("#lock-set-nx-timeline .hold title")].map(e=>e.textContent)`)
	want := []string{
		`client 3, session 3.1 holds "a" from 1.905 s to 7.330 s (released)`,
		`client 5, session 5.1 holds "a" from 4.213 s to 4.242 s (released)`,
	}
	for _, w := range want {
		if !slices.ContainsFunc(holds, func(h string) bool { return strings.Contains(h, w) && strings.Contains(h, "\nlines ") }) {
			t.Errorf("no bar says %s, with its lines; they say\n%s", w, strings.Join(holds, "\n"))
		}
	}
	meets := JS[[]string](t, b, `[...document.querySelectorAll("#lock-set-nx-timeline .overlap title")].map(e=>e.textContent)`)
	if !slices.ContainsFunc(meets, func(m string) bool { return strings.Contains(m, "client 3 and client 5, from 4.213 s to 4.242 s") }) {
		t.Errorf("the overlap is not among %q", meets)
	}
	lanes := JS[[]string](t, b, `[...document.querySelectorAll("#lock-set-nx-timeline .names text")].map(e=>e.textContent)`)
	for _, lane := range []string{"lag", "kill", "redis-1", "redis-2", "client 3", "client 5", "client 6"} {
		if !slices.Contains(lanes, lane) {
			t.Errorf("no lane for %s among %v", lane, lanes)
		}
	}
	// The position of a bar is proportional to its times, within a pixel.
	off := JS[float64](t, b, `(()=>{const f=document.querySelector("#lock-set-nx-timeline"),from=+f.dataset.from,to=+f.dataset.to;
		const bar=[...f.querySelectorAll(".hold")].find(e=>e.textContent.includes("session 3.1"));
		return Math.max(Math.abs(parseFloat(bar.getAttribute("x"))-100*(1905e6-from)/(to-from)),Math.abs(parseFloat(bar.getAttribute("width"))-100*(7330-1905)*1e6/(to-from)));})()`)
	if off > 0.01 {
		t.Errorf("the bar of session 3.1 is off by %.3f %% of the width", off)
	}

	// Hovering shows the text of a bar, and zooming widens the drawing.
	JS[bool](t, b, `document.querySelector("#lock-set-nx-timeline .overlap").dispatchEvent(new MouseEvent("mouseover",{bubbles:true}))`)
	if got := b.Text(t, "#lock-set-nx-timeline .detail"); !strings.HasPrefix(got, `both hold "a"`) {
		t.Errorf("hovering over the overlap tells %q", got)
	}
	width := `document.querySelector("#lock-set-nx-timeline svg.time").getBoundingClientRect().width`
	before := JS[float64](t, b, width)
	b.Do(t, chromedp.Click(`#lock-set-nx-timeline .zoom button[aria-label="Zoom in"]`, chromedp.ByQuery))
	if after := JS[float64](t, b, width); after < 1.9*before {
		t.Errorf("zoomed in, the drawing is %.0f pixels wide after %.0f", after, before)
	}
	b.Calm(t)
}

// Without scripts, only the texts of hovering and the zoom are missing.
func TestPageWithoutScripts(t *testing.T) {
	dir := failoverBundle(t)
	b := OpenBrowser(t)
	b.Do(t, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate("file://"+filepath.ToSlash(filepath.Join(dir, File))))
	for selector, want := range map[string]string{"#outcome": "1 lock violated, as expected", ".story": "both hold from", "#limits": "weak evidence", "#provenance": "lockbench check"} {
		if got := b.Text(t, selector); !strings.Contains(got, want) {
			t.Errorf("%s reads %q, want %q in it", selector, got, want)
		}
	}
	b.Calm(t)
}

// The tests notice errors of the browser.
func TestBrowserHearsTrouble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.html")
	text := `<!DOCTYPE html><img src="https://example.com/x.png"><script>console.error("no"); throw new Error("broken")</script><p id="end">end</p>`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := OpenBrowser(t)
	b.Do(t, chromedp.Navigate("file://"+filepath.ToSlash(path)))
	b.Text(t, "#end")
	b.mu.Lock()
	all := strings.Join(b.troubles, "\n")
	b.mu.Unlock()
	for _, want := range []string{"exception", "console", "asked the network for https://example.com/x.png"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not among what was heard:\n%s", want, all)
		}
	}
}
