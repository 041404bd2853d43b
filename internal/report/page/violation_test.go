package page

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// A drawing of porcupine is readable with light and dark colours, names its lock, and links back.
func TestViolationInABrowser(t *testing.T) {
	bundle, err := report.Load(failoverBundle(t))
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadFile(bundle.Histories[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	lock := &bundle.Result.Locks[0]
	f, _ := lock.FirstFinding()
	v := Violation{Scenario: "failover", Lock: lock.Lock, Class: f.Class.String(), Seed: 7, Episode: 1}
	err = bundle.WriteDrawing(lock.Lock, func(w io.Writer) error {
		return v.Frame(w, func(w io.Writer) error { return checker.Draw(w, h, checker.Options{}, f) })
	})
	if err != nil {
		t.Fatal(err)
	}
	b := OpenBrowser(t)
	for _, s := range Screens {
		t.Run(s.String(), func(t *testing.T) {
			b.On(t, s)
			b.Open(t, filepath.Join(bundle.Dir, report.FolderName(lock.Lock), report.DrawingFile))
			if title := JS[string](t, b, `document.title`); title != "set-nx: double-grant, episode 1 - failover, seed 7 - lockbench" {
				t.Errorf("the title reads %q", title)
			}
			if texts := JS[[]string](t, b, `[...document.querySelectorAll(".lockbench *")].filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)`); len(texts) > 0 {
				t.Errorf("cut: %q", texts)
			}
			for _, text := range JS[[]string](t, b, faint) {
				if !strings.HasPrefix(text, "text.history-text") { // in a box of its own colour
					t.Errorf("faint: %s", text)
				}
			}
			if n := JS[int](t, b, `document.querySelectorAll("h1").length`); n != 1 {
				t.Errorf("%d elements h1", n)
			}
			// With the keyboard: to the first error, which selects it, and back to the run.
			b.Do(t, chromedp.Focus(".lockbench button", chromedp.ByQuery), chromedp.KeyEvent("\r"))
			if n := JS[int](t, b, `document.querySelectorAll(".selected").length`); n == 0 {
				t.Error("the button selects no error")
			}
			b.Do(t, chromedp.Focus(".lockbench a", chromedp.ByQuery), chromedp.KeyEvent("\r"), chromedp.WaitVisible("#lock-set-nx", chromedp.ByQuery))
		})
	}
	b.Calm(t)
}
