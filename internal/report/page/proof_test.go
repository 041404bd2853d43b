package page_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"lockbench/internal/proof"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/locks/mutants"
)

// The page of a proof has the same look and the same promises as the others.
func TestProofPageInABrowser(t *testing.T) {
	wrong := func(class, notShown string) mutants.Wrong {
		return mutants.Wrong{Bug: "C-2", Known: "a <library> #1", Scenario: "late-request", Class: class, Twin: "set-nx", NotShown: notShown}
	}
	p := proof.Page{
		World: "sim", Again: "lockbench prove --all", Conclusion: "Exit 1: 1 of 3 wrong locks shown.", Code: report.ExitUnexpected,
		Proofs: []*proof.Proof{
			{Lock: "first", Mistake: "asks <nobody>", Wrong: wrong("double-grant", ""), Seen: 20, Runs: 20, TwinRuns: 100},
			{Lock: "second", Mistake: "sleeps", Wrong: wrong("flood", ""), Seen: 3, Runs: 20, TwinRuns: 100, Found: []string{"valid"}},
			{Lock: "third", Mistake: "waits", Wrong: wrong("overtaken", "it needs another fault"), Runs: 20, TwinRuns: 100},
		},
		Stories: map[string][]string{"first": {"client 1 holds", "client 2 holds"}},
	}
	file := filepath.Join(t.TempDir(), "proof.html")
	if err := p.Save(file); err != nil {
		t.Fatal(err)
	}
	b := page.OpenBrowser(t)
	b.Do(t, chromedp.Navigate("file://"+filepath.ToSlash(file)))
	if got := b.Text(t, "#outcome"); got != "not as it must be" {
		t.Errorf("the outcome reads %q", got)
	}
	rows := page.JS[[]string](t, b, `[...document.querySelectorAll(".proofs tbody tr")].map(e=>e.className+"|"+e.innerText.replace(/\s+/g," ").trim())`)
	want := []string{"|shown C-2 first asks <nobody>", "bad|NOT SHOWN C-2 second sleeps in place of flood: valid", "|not shown yet C-2 third waits not shown yet: it needs another fault"}
	for i, w := range want {
		if len(rows) != len(want) || !strings.HasPrefix(rows[i], w) {
			t.Fatalf("the rows read %q, want %q", rows, want)
		}
	}
	b.Do(t, chromedp.Click("#lock-first summary", chromedp.ByQuery), chromedp.WaitVisible("#lock-first pre", chromedp.ByQuery))
	if got := b.Text(t, "#lock-first pre"); got != "client 1 holds\nclient 2 holds" {
		t.Errorf("the story reads %q", got)
	}
	b.Calm(t)
}
