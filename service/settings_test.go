package service

import (
	"slices"
	"testing"
)

func TestReadSettings(t *testing.T) {
	got := ReadSettings("!where lockbench decides where\nport !where the port\nmax the most connections\n")
	want := []Setting{{"port", "the port", "lockbench decides where"}, {"max", "the most connections", ""}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a reason that no line gives is accepted")
		}
	}()
	ReadSettings("port !where the port\n")
}
