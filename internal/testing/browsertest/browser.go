// Package browsertest opens pages in a real browser: chromium or chrome, without a network.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
	troubles []string // errors on the console, exceptions, requests that leave the machine
	site     string   // which may be asked, too; empty: there is none
}

// Visits allows the pages of one site.
func (b *Browser) Visits(site string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.site = site
}

// Start starts a browser, or skips the test if none is installed.
func Start(t testing.TB) *Browser {
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
			local := strings.HasPrefix(e.Request.URL, "file://") || strings.HasPrefix(e.Request.URL, "data:")
			if !local && (site == "" || !strings.HasPrefix(e.Request.URL, site)) {
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
