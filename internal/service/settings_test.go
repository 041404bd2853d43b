package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadSettings(t *testing.T) {
	got := ReadSettings("!where lockbench decides where\nport !where the port\nmax <number> the most connections\nfsync <on,off> a < b > c\nfree <= 3\n")
	want := []Setting{
		{Name: "port", About: "the port", Decided: "lockbench decides where"},
		{Name: "max", About: "the most connections", Values: []string{Number}},
		{Name: "fsync", About: "a < b > c", Values: []string{"on", "off"}},
		{Name: "free", About: "<= 3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	defer func() {
		if recover() == nil {
			t.Error("a reason that no line gives is accepted")
		}
	}()
	ReadSettings("port !where the port\n")
}

func TestSettingAccepts(t *testing.T) {
	number, words, free := Setting{Values: []string{Number}}, Setting{Values: []string{"yes", "no"}}, Setting{}
	for _, c := range []struct {
		s     Setting
		value string
		want  bool
	}{
		{number, "7", true}, {number, "-1", true}, {number, "010", true}, {number, "seven", false}, {number, "", false}, {number, "1.5", false},
		{words, "no", true}, {words, "maybe", false}, {words, "", false}, {words, "NO", false},
		{free, "maybe", true}, {free, "", true},
	} {
		if got := c.s.Accepts(c.value); got != c.want {
			t.Errorf("%v accepts %q: %v, want %v", c.s.Values, c.value, got, c.want)
		}
	}
}
