//go:build linux

package local

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/output"
	"lockbench/internal/service"
)

// listed returns a service whose nodes run a program.
func listed(name string, runs service.Executable) *service.Service {
	s := *toy
	s.Name = name
	s.Needs = service.Needs{
		Programs: []service.Executable{runs}, Install: "there is none", VersionArgs: []string{"1.2"}, Least: "1",
		Version: func(said string) (string, bool, error) { return strings.TrimSpace(said), true, nil },
	}
	return &s
}

// A world is ready when the programs of the services of a run exist.
func TestReadyAsksForWhatIsWanted(t *testing.T) {
	there := listed("there", service.Executable{Name: "echo"})
	missing := listed("missing", service.Executable{Name: "no-such-program"})
	for _, one := range []struct {
		services []*service.Service
		wanted   []string
		about    string // empty: the world is not ready
	}{
		{[]*service.Service{there, missing}, nil, "echo 1.2"},
		{[]*service.Service{missing, there}, nil, ""},
		{[]*service.Service{missing, there}, []string{"there"}, "echo 1.2"},
		{[]*service.Service{there, missing}, []string{"there", "missing"}, ""},
	} {
		w := New(Options{Services: one.services, Wanted: one.wanted})
		err := w.Ready(t.Context())
		if ready := err == nil; ready != (one.about != "") || w.About() != one.about {
			t.Errorf("%v, wanted %v: %v, about %q, want %q", one.services, one.wanted, err, w.About(), one.about)
		}
	}
}

// TestVersionWithoutEnd: a program that prints endlessly instead of its version is ended, and the error
// names it.
func TestVersionWithoutEnd(t *testing.T) {
	endless := filepath.Join(t.TempDir(), "endless")
	if err := os.WriteFile(endless, []byte("#!/bin/sh\nexec yes\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := listed("endless", service.Executable{Name: "echo"})
	w := New(Options{Services: []*service.Service{s}, Programs: map[string]string{"endless": endless}})
	if err := w.Ready(t.Context()); !errors.Is(err, output.ErrTooLong) || !strings.Contains(err.Error(), endless) {
		t.Errorf("a program without end: %v, want %v with its name", err, output.ErrTooLong)
	}
}

// A program with subcommands gets its words as arguments, a user's program does not. A program that
// is built together with this one is found in the same directory.
func TestProgramOfSeveral(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sibling := filepath.Join(filepath.Dir(self), "lockbench-test-of-several")
	if err := os.WriteFile(sibling, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(sibling) })
	s := listed("several", service.Executable{Name: filepath.Base(sibling), NextTo: true, Words: []string{"serve", "it"}})
	for own, want := range map[string][]string{
		"":        {sibling, "serve", "it", "-x"},
		sibling:   {sibling, "serve", "it", "-x"},
		"/bin/sh": {"/bin/sh", "-x"},
	} {
		p, err := New(Options{Programs: map[string]string{s.Name: own}}).program(s)
		if got := append([]string{p.path}, p.with([]string{"-x"})...); err != nil || !slices.Equal(got, want) {
			t.Errorf("own %q: %v, %v; want %v", own, got, err, want)
		}
	}
}

// The error of a program that does not start quotes the first lines of its output, which usually have the reason.
func TestProgramThatDoesNotStart(t *testing.T) {
	for _, script := range []string{"echo out; echo; echo no main class >&2; exit 1", "echo; echo no main class; exit 1"} {
		s := listed("lame", service.Executable{Name: "sh", Words: []string{"-c", script}})
		err := New(Options{Services: []*service.Service{s}}).Ready(t.Context())
		if err == nil || !strings.Contains(err.Error(), "exit status 1: no main class; there is none") {
			t.Errorf("%s: it says %v", script, err)
		}
	}
}

// Files in the data directory are lost with the data, and written again.
func TestDataFilesAreWrittenAgain(t *testing.T) {
	p := service.Program{Files: map[string]string{"/c/data/id": "1", "/c/data.txt": "2", "/c/x": "3"}}
	if got := p.In("/c/data"); len(got) != 1 || got["/c/data/id"] != "1" {
		t.Errorf("in the folder there are %v", got)
	}
}
