package catalog

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockbench/service"
)

// TestGuestPage holds the table of docs/guest-protocol.md, which says what a guest finds in its store, to the
// services: a row for each topology of each service, and no other.
func TestGuestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/guest-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range All() {
		for _, topology := range s.Topologies() {
			want = append(want, guestRow(s, topology))
		}
	}
	got := regexp.MustCompile("(?m)^\\| `[a-z]+` \\| `[a-z]+` \\| `[a-z]+`: .*\\|$").FindAllString(string(text), -1)
	if !slices.Equal(got, want) {
		t.Errorf("the table of docs/guest-protocol.md is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, s := range All() {
		for _, topology := range s.Topologies() {
			for name := range s.Open(topology, nil).Params() {
				if !regexp.MustCompile("(?m)^- .*`" + name + "`.*: ").Match(text) {
					t.Errorf("docs/guest-protocol.md does not explain the parameter %s of %s", name, s.Name())
				}
			}
		}
	}
}

// guestRow is the hello of a topology to a guest, as a row of the table.
func guestRow(s service.Service, t service.Topology) string {
	entry, which := t.Entry, fmt.Sprintf("all nodes `%s-1`, `%s-2`, ...", t.Entry, t.Entry)
	switch nodes := t.Of(t.Entry); {
	case entry == "":
		entry, which = s.Name(), "one address, which leads to the leader"
	case len(nodes) == 1:
		which = "the server"
	}
	params := "none"
	if names := slices.Sorted(maps.Keys(s.Open(t, nil).Params())); len(names) > 0 {
		params = "`" + strings.Join(names, "`, `") + "`"
	}
	return fmt.Sprintf("| `%s` | `%s` | `%s`: %s | %s |", s.Name(), t.Name, entry, which, params)
}
