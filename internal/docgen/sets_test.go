package main

import (
	"reflect"
	"testing"
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
