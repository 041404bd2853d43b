package libraries

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"lockbench/locks/catalog"
)

// The capabilities and options in the catalog are those of the served libraries.
func TestCatalogSaysWhatIsServed(t *testing.T) {
	served := map[string]bool{}
	for _, l := range All() {
		served[l.Name] = true
	}
	for _, entry := range catalog.All() {
		if entry.Library == nil || entry.Library.Real && !served[entry.Name] {
			continue // or a program of its own, which is not a library here
		}
		l, err := Find(entry.Name)
		if err != nil {
			t.Errorf("the catalog has %s: %v", entry.Name, err)
			continue
		}
		delete(served, entry.Name)
		if l.Family != entry.Family || l.Claims != entry.Claims {
			t.Errorf("%s: served are %s and %+v, the catalog has %s and %+v", entry.Name, l.Family, l.Claims, entry.Family, entry.Claims)
		}
		var words []string
		for _, o := range entry.Options() {
			words = append(words, o.Name+"="+o.Default)
		}
		options, err := ParseOptions(words)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Open(options); err != nil {
			t.Errorf("%s with the defaults of the catalog: %v", entry.Name, err)
		}
		none, _ := ParseOptions([]string{"no-such-option=1"})
		_, err = l.Open(none)
		if err == nil || !strings.Contains(err.Error(), "there is no option no-such-option") {
			t.Errorf("%s with an option that there is not: %v", entry.Name, err)
		}
		for _, o := range entry.Options() {
			if err != nil && !strings.Contains(err.Error(), o.Name) {
				t.Errorf("%s has no option %s, which the catalog names", entry.Name, o.Name)
			}
		}
	}
	if len(served) > 0 {
		t.Errorf("served, and not in the catalog: %v", slices.Sorted(maps.Keys(served)))
	}
}

func TestOptionsAreRead(t *testing.T) {
	for words, want := range map[string]string{
		"tries":            `"tries" is not an option; options are written NAME=VALUE`,
		"tries=many":       `option tries: "many" cannot be read`,
		"careful=yes":      `option careful: "yes" cannot be read`,
		"tries=3 drift=.1": "",
	} {
		o, err := ParseOptions(strings.Fields(words))
		if err == nil {
			l, _ := Find("redsync")
			_, err = l.Open(o)
		}
		if got := errorText(err); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
	if _, err := Find("redsnc"); err == nil || !strings.Contains(err.Error(), "redsync") {
		t.Errorf("a library that there is not: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
