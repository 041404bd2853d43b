package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"lockbench/locks/catalog"
)

// Wrong locks are in no list unless the user names mutants, and their text says that they are wrong.
func TestMutantsAreNotOffered(t *testing.T) {
	offered := catalog.Names()
	for _, l := range catalog.Mutants() {
		if slices.Contains(offered, l.Name) {
			t.Errorf("%s is offered among the right locks", l.Name)
		}
		if found, ok := catalog.Find(l.Name); !ok || found.Wrong == nil || !strings.HasPrefix(found.About, "wrong on purpose: ") {
			t.Errorf("%s: found %v, %q; want it marked as wrong", l.Name, ok, found.About)
		}
		if opener, err := catalog.Open(l.Name, nil); err != nil || opener == nil {
			t.Errorf("open %s: %v", l.Name, err)
		}
		if _, err := catalog.Open(l.Name, map[string]string{"colour": "red"}); err == nil {
			t.Errorf("%s takes an option that it has not", l.Name)
		}
		twin, _, _ := strings.Cut(l.Wrong.Original, "/")
		if right, ok := catalog.Find(twin); !ok || right.Wrong != nil || right.Broken {
			t.Errorf("the original of %s is %q, which is not a correct lock", l.Name, twin)
		}
	}
}
