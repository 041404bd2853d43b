package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/conform"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks/catalog"
)

// brokenByDesign are the rules that naive locks break according to docs/conformance.md.
var brokenByDesign = map[string][]string{
	"setnx-expire": {"release-twice", "stranger", "cancelled-asking"},
	"set-del":      {"release-twice", "stranger"},
	"getset-time":  {"release-twice"},
}

// TestConformOnEveryTopology runs the conformance suite for the catalog locks on every topology of their service in world
// local. Rules depend on timing, so it must run alone: LOCKBENCH_CONFORM=1 runs the locks on Redis, and LOCKBENCH_LONG=1
// also those on other services and the installed libraries.
func TestConformOnEveryTopology(t *testing.T) {
	if os.Getenv("LOCKBENCH_CONFORM") == "" {
		t.Skip("it takes minutes and a machine of its own: LOCKBENCH_CONFORM=1")
	}
	program := trialtest.Program(t)
	for _, l := range catalog.All() {
		if l.Service == "" {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			if (l.Service != redis.Name || l.Library != nil) && os.Getenv("LOCKBENCH_LONG") == "" {
				t.Skip("locks on other services, and libraries: LOCKBENCH_LONG=1")
			}
			if l.Library != nil {
				if _, err := exec.LookPath(catalog.LibraryProgram); err != nil {
					t.Skip(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), program, "conform", l.Name, "--world", "local", "--json")
			var complaints strings.Builder
			cmd.Stderr = &complaints
			out, err := cmd.Output()
			if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
				t.Fatal(err)
			}
			var got conform.Report
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v, exit code %d: %s", err, cmd.ProcessState.ExitCode(), complaints.String())
			}
			var broken []string
			for _, on := range got.Topologies {
				if on.LeftOut != "" {
					t.Errorf("%s was left out: %s", on.Topology, on.LeftOut)
				}
				for _, rule := range on.Rules {
					switch rule.Result {
					case conform.Broken:
						if broken = append(broken, rule.Rule); !slices.Contains(brokenByDesign[l.Name], rule.Rule) {
							t.Errorf("%s: %s is broken: %s", on.Topology, rule.Rule, rule.Why)
						}
					case conform.Undecided:
						t.Errorf("%s: %s is undecided: %s", on.Topology, rule.Rule, rule.Why)
					}
				}
			}
			if len(got.Topologies) != len(l.Topologies) {
				t.Errorf("%d topologies were asked, want %d", len(got.Topologies), len(l.Topologies))
			}
			for _, rule := range brokenByDesign[l.Name] {
				if !slices.Contains(broken, rule) {
					t.Errorf("%s is kept, but the lock is naive and should break it", rule)
				}
			}
		})
	}
}
