package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/run"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/workloads"
)

// kind is one kind of names that list prints.
type kind struct {
	one, list string // "lock", "locks"
	names     func() []named
}

// kindOf makes a kind of a list of values.
func kindOf[T any](one, list string, all func() []T, name func(T) named) kind {
	return kind{one, list, func() []named { return mapped(all(), name) }}
}

// kindNames returns the words for all lists.
func kindNames() []string { return mapped(kinds(), func(k kind) string { return k.list }) }

// mapped applies a function to each element.
func mapped[T, U any](all []T, to func(T) U) []U {
	results := make([]U, len(all))
	for i, one := range all {
		results[i] = to(one)
	}
	return results
}

// named is a name with its description.
type named struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Notes string `json:"notes,omitempty"`
	// Claims are the capabilities of a lock. Options are the options of a lock or the keys of a fault.
	Claims  []string `json:"claims,omitempty"`
	Options []string `json:"options,omitempty"`
	// Calls are the values of the option call of a library. Topologies are those on which a lock runs.
	Calls      []string `json:"calls,omitempty"`
	Topologies []string `json:"topologies,omitempty"`
	// Examples are steps of a scenario with a fault, as --fault takes them.
	Examples []string `json:"examples,omitempty"`
	// Scenario shows a mutant's mistake as Class, and Original is the right lock of which it is a change.
	Scenario string `json:"scenario,omitempty"`
	Class    string `json:"class,omitempty"`
	Original string `json:"original,omitempty"`
}

// kinds returns all kinds in the order in which list prints them.
func kinds() []kind {
	return []kind{
		kindOf("scenario", "scenarios", scenarios.Names, namedScenario),
		kindOf("lock", "locks", func() []catalog.Lock { return ownLocks(true) }, namedLock),
		kindOf("library", "libraries", func() []catalog.Lock { return ownLocks(false) }, namedLock),
		kindOf("fault", "faults", nemesis.All, namedFault),
		kindOf("workload", "workloads", workloads.All, namedWorkload),
		kindOf("checker", "checkers", checker.Checks, func(c checker.Check) named { return named{Name: c.Name, About: c.About} }),
		kindOf("rule", "rules", checker.Rules, func(r checker.Rule) named {
			return named{Name: r.Name, About: r.About, Notes: "a finding of " + r.Check}
		}),
		kindOf("world", "worlds", func() []world.World { return run.Worlds(run.WorldOptions{}) }, namedWorld),
		kindOf("service", "services", services.All, namedService),
		kindOf("role", "roles", func() []nemesis.Word { return nemesis.RolesOf(services.All()) }, namedWord),
		kindOf("moment", "moments", func() []nemesis.Word { return nemesis.Moments }, namedWord),
		kindOf("link", "links", func() []nemesis.Word { return nemesis.Links }, namedWord),
		{"setting", "settings", namedSettings},
		kindOf("mutant", "mutants", catalog.Mutants, namedLock),
	}
}

func namedWord(w nemesis.Word) named { return named{Name: w.Name, About: w.About} }

func namedScenario(name string) named {
	n := named{Name: name}
	if s, err := scenarios.Load(name); err == nil {
		n.About = strings.Join(strings.Fields(s.About), " ")
	}
	return n
}

// ownLocks returns lockbench's own locks, or the libraries.
func ownLocks(own bool) []catalog.Lock {
	return slices.DeleteFunc(catalog.All(), func(l catalog.Lock) bool { return (l.Library == nil) != own })
}

func topologyName(t locks.Topology) string { return string(t) }

func namedLock(l catalog.Lock) named {
	note := "on " + strings.Join(mapped(l.Topologies, topologyName), ", ")
	if slices.Equal(l.Topologies, []locks.Topology{locks.None}) {
		note = "needs no server"
	}
	if lib := l.Library; lib != nil {
		note += fmt.Sprintf("; %s; it says (%s): %s", lib.Version, lib.Where, lib.Says)
		for _, folder := range lib.Guests {
			if _, err := run.Guest(folder); err != nil {
				note += fmt.Sprintf("; %s is not built (make guests)", folder)
			}
		}
	}
	n := named{
		Name: l.Name, About: l.About, Notes: note, Claims: claimed(l.Claims),
		Calls: l.Calls(), Topologies: mapped(l.Topologies, topologyName),
	}
	for _, o := range l.Options() {
		n.Options = append(n.Options, fmt.Sprintf("%s=%s: %s", o.Name, o.Default, o.About))
	}
	if w := l.Wrong; w != nil {
		n.Notes += fmt.Sprintf("; bug %s; shown by %s as %s; its original is %s", w.Bug, w.Scenario, w.Class, w.Original)
		n.Scenario, n.Class, n.Original = w.Scenario, w.Class, w.Original
	}
	return n
}

// claimed returns the capabilities of a lock by their names in the hello of a guest.
func claimed(c locks.Claims) []string {
	var claims map[string]bool
	if text, err := json.Marshal(c); err == nil {
		_ = json.Unmarshal(text, &claims)
	}
	return slices.Sorted(maps.Keys(claims))
}

func namedFault(f nemesis.Entry) named {
	n := named{Name: f.Name, About: f.About, Notes: "strikes a role"}
	if f.Link {
		n.Notes = "strikes links"
	}
	for _, k := range f.Keys {
		takes := strings.ReplaceAll(k.Takes, "|", ", ")
		switch {
		case k.Needed:
			takes += ", required"
		case k.Default != "":
			takes += ", default " + k.Default
		}
		n.Options = append(n.Options, fmt.Sprintf("%s (%s): %s", k.Name, takes, k.About))
	}
	for _, step := range append([]nemesis.Step{f.Try}, f.Also...) {
		n.Examples = append(n.Examples, stepText(f.Name, step))
	}
	return n
}

// stepText writes a step of a scenario in one line.
func stepText(fault string, s nemesis.Step) string {
	keys := []string{fault + ": " + s.Target}
	if s.When != "" {
		keys = append(keys, "when: "+string(s.When))
	}
	if s.Request > 0 {
		keys = append(keys, fmt.Sprintf("request: %d", s.Request))
	}
	if s.For != nil {
		keys = append(keys, "for: "+s.For.String())
	}
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		keys = append(keys, name+": "+s.Options[name])
	}
	return strings.Join(keys, ", ")
}

func namedWorkload(w workloads.Entry) named {
	n := named{Name: w.Name, About: w.About}
	for _, need := range w.Needs {
		n.Notes = strings.TrimPrefix(n.Notes+"; asks a lock for "+need.What, "; ")
	}
	return n
}

func namedWorld(w world.World) named {
	d := w.Describe()
	return named{Name: w.Name(), About: d.What, Notes: fmt.Sprintf(
		"for each lock at most %d clients (%s) and %d servers (%s)", d.Clients.Max, d.Clients.Why, d.Servers.Max, d.Servers.Why)}
}

func namedService(s *service.Service) named {
	topologies := mapped(s.Topologies, func(t service.Topology) string { return string(t.Name) })
	return named{
		Name: s.Name, About: s.Needs.Command() + " of version " + s.Needs.Least + " or newer",
		Notes: "topologies " + strings.Join(topologies, ", "),
	}
}

// namedSettings returns the settings of all services. Notes say why a scenario cannot set the others.
func namedSettings() []named {
	var all []named
	for _, s := range services.All() {
		for _, set := range s.Settings {
			n := named{Name: set.Name, About: set.About, Notes: "a setting of " + s.Name}
			if len(set.Values) > 0 {
				n.Notes += "; values: " + strings.Join(set.Values, ", ")
			}
			if set.Decided != "" {
				n.About = "(fixed) " + set.About
				n.Notes = "a scenario cannot set it: " + set.Decided
			}
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
