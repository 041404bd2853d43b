package catalog

import (
	"os"
	"regexp"
	"testing"
)

// TestGuestPage checks that docs/guest-protocol.md explains each parameter that a guest finds in its store.
func TestGuestPage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guest-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range All() {
		for _, topology := range s.Topologies {
			for name := range s.Open(topology, nil).Params() {
				if !regexp.MustCompile("(?m)^- .*`" + name + "`.*: ").Match(text) {
					t.Errorf("docs/guest-protocol.md does not explain the parameter %s of %s", name, s.Name)
				}
			}
		}
	}
}
