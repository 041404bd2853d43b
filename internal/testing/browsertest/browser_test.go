package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tests notice errors of the browser.
func TestBrowserHearsTrouble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.html")
	text := `<!DOCTYPE html><img src="https://example.com/x.png"><script>console.error("no"); throw new Error("broken")</script><p id="end">end</p>`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := Start(t)
	b.Open(t, path)
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

// Axe finds what a reader with a keyboard or a screen reader cannot use.
func TestInaccessible(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.html")
	text := `<!DOCTYPE html><html><title>bad</title><img src="data:,x"><input><p style="color:#aaa;background:#fff">faint</p>`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := Start(t)
	b.Open(t, path)
	all := strings.Join(b.inaccessible(t), "\n")
	for _, rule := range []string{"html-has-lang", "image-alt", "label", "color-contrast"} {
		if !strings.Contains(all, rule+" (") {
			t.Errorf("%s is not among what axe found:\n%s", rule, all)
		}
	}
}
