package main

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"lockbench/locks/mutants"
)

// TestShorten: the columns of a search are written once, and each fault has a number.
func TestShorten(t *testing.T) {
	rows := [][]string{
		{"redlock", "counter", "1", "1", "920", "0", "0", "", "", "2", ""},
		{"redlock", "counter", "1", "1", "920", "0", "0", "pause: holder", "overstay", "1", "7"},
		{"redlock", "counter", "1", "2", "342321", "0", "0", "kill: redis-1 + pause: holder", "overstay", "1", "9"},
		{"set-nx", "counter", "1", "2", "342321", "0", "0", "kill: redis-1", "double-grant", "1", "3"},
	}
	short, faults := shorten(rows)
	want := [][]string{
		{"redlock", "counter", "1", "1", "920", "0", "0", "", "", "2", ""},
		{"", "", "", "", "", "", "", "1", "overstay", "1", "7"},
		{"redlock", "counter", "1", "2", "342321", "0", "0", "2+1", "overstay", "1", "9"},
		{"set-nx", "counter", "1", "2", "342321", "0", "0", "2", "double-grant", "1", "3"},
	}
	if !reflect.DeepEqual(short, want) {
		t.Errorf("the rows are\n%q\nwant\n%q", short, want)
	}
	if want := [][]string{{"1", "pause: holder"}, {"2", "kill: redis-1"}}; !reflect.DeepEqual(faults, want) {
		t.Errorf("the faults are %q, want %q", faults, want)
	}
}

// Each mutant was tried, and each that no single fault shows has a reason.
func TestMutantsHaveASetOrAReason(t *testing.T) {
	inTopFolder(t)
	all, err := setCounts()
	if err != nil {
		t.Fatal(err)
	}
	reasons := maps.Clone(unreached)
	for _, m := range mutants.All() {
		original, _, _ := strings.Cut(m.Original, "/")
		shown, why := shownBy(m, all[m.Name], all[original]) != nil, unreached[m.Name]
		switch {
		case len(all[m.Name]) == 0:
			t.Errorf("%s was not tried", m.Name)
		case shown == (why != ""):
			t.Errorf("%s: shown %v, reason %q; want one of them", m.Name, shown, why)
		}
		delete(reasons, m.Name)
	}
	for name := range reasons {
		t.Errorf("%s has a reason, and is not a mutant", name)
	}
}
