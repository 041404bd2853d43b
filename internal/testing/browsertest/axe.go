package browsertest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/chromedp/chromedp"

	"lockbench/internal/needs"
)

// axeRules runs the rules of axe for WCAG 2.1, levels A and AA, and returns what breaks them.
const axeRules = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"]}).then(found =>
	found.violations.flatMap(v => v.nodes.map(n => v.id + " (" + v.help + "): " + n.html.slice(0, 300) + " " + n.failureSummary)))`

// Accessible checks the page with axe-core, which scripts/setup installs, or skips the test if it is not installed.
func (b *Browser) Accessible(t testing.TB) {
	t.Helper()
	for _, found := range b.inaccessible(t) {
		t.Error(found)
	}
}

func (b *Browser) inaccessible(t testing.TB) []string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../../../build/axe/node_modules/axe-core/axe.min.js"))
	needs.OrSkip(t, "axe", err)
	b.Do(t, chromedp.Evaluate(string(text), nil))
	return JS[[]string](t, b, axeRules)
}
