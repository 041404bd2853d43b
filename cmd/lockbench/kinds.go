package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/run"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
	services "lockbench/service/catalog"
	"lockbench/workloads"
)

// kind is one kind of names that list prints.
type kind struct {
	one, list string // "lock", "locks"
	many      bool   // there are too many names to list them next to those of other kinds
	names     func() []named
}

// all returns the names of this kind.
func (k kind) all() []string { return namesOf(k.names(), func(n named) string { return n.Name }) }

// find finds a name of this kind.
func (k kind) find(name string) (named, bool) {
	all := k.names()
	i := slices.IndexFunc(all, func(n named) bool { return n.Name == name })
	if i < 0 {
		return named{}, false
	}
	return all[i], true
}

// findKind finds a kind by the word for its list.
func findKind(list string) (kind, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.list == list })
	if i < 0 {
		return kind{}, false
	}
	return all[i], true
}

// kindNames returns the words for all lists.
func kindNames() []string { return namesOf(kinds(), func(k kind) string { return k.list }) }

// namesOf returns the name of each element.
func namesOf[T any](all []T, name func(T) string) []string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = name(one)
	}
	return names
}

// named is a name with its description.
type named struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Notes string `json:"notes,omitempty"`
	// Claims are the capabilities of a lock. Options are the options of a lock or the keys of a fault.
	Claims  []string `json:"claims,omitempty"`
	Options []string `json:"options,omitempty"`
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
		{one: "scenario", list: "scenarios", names: namedScenarios},
		{one: "lock", list: "locks", names: namedLocks},
		{one: "library", list: "libraries", names: namedLibraries},
		{one: "fault", list: "faults", names: namedFaults},
		{one: "workload", list: "workloads", names: namedWorkloads},
		{one: "checker", list: "checkers", names: namedCheckers},
		{one: "rule", list: "rules", many: true, names: namedRules},
		{one: "world", list: "worlds", names: namedWorlds},
		{one: "service", list: "services", names: namedServices},
		{one: "role", list: "roles", names: func() []named { return namedWords(nemesis.RolesOf(services.All())) }},
		{one: "moment", list: "moments", names: func() []named { return namedWords(nemesis.Moments) }},
		{one: "link", list: "links", names: func() []named { return namedWords(nemesis.Links) }},
		{one: "setting", list: "settings", many: true, names: namedSettings},
		{one: "mutant", list: "mutants", many: true, names: namedMutants},
	}
}

func namedWords(words []nemesis.Word) []named {
	var all []named
	for _, w := range words {
		all = append(all, named{Name: w.Name, About: w.About})
	}
	return all
}

func namedScenarios() []named {
	var all []named
	for _, name := range scenarios.Names() {
		about := ""
		if s, err := scenarios.Load(name); err == nil {
			about = strings.Join(strings.Fields(s.About), " ")
		}
		all = append(all, named{Name: name, About: about})
	}
	return all
}

func namedLocks() []named { return namedOf(func(l catalog.Lock) bool { return l.Library == nil }) }

func namedLibraries() []named {
	return namedOf(func(l catalog.Lock) bool { return l.Library != nil })
}

// namedMutants returns the mutants.
func namedMutants() []named { return namedAmong(catalog.Mutants()) }

func namedOf(takes func(catalog.Lock) bool) []named {
	return namedAmong(slices.DeleteFunc(catalog.All(), func(l catalog.Lock) bool { return !takes(l) }))
}

func namedAmong(among []catalog.Lock) []named {
	var all []named
	for _, l := range among {
		var on []string
		for _, t := range l.Topologies {
			on = append(on, string(t))
		}
		note := "on " + strings.Join(on, ", ")
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
		var options []string
		for _, o := range l.Options() {
			options = append(options, fmt.Sprintf("%s=%s: %s", o.Name, o.Default, o.About))
		}
		n := named{Name: l.Name, About: l.About, Notes: note, Claims: claimed(l.Claims), Options: options}
		if w := l.Wrong; w != nil {
			n.Notes += fmt.Sprintf("; bug %s; shown by %s as %s; its original is %s", w.Bug, w.Scenario, w.Class, w.Original)
			n.Scenario, n.Class, n.Original = w.Scenario, w.Class, w.Original
		}
		all = append(all, n)
	}
	return all
}

func namedFaults() []named {
	var all []named
	for _, f := range nemesis.All() {
		note := "strikes a role"
		if f.Link {
			note = "strikes links"
		}
		n := named{Name: f.Name, About: f.About, Notes: note}
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
		all = append(all, n)
	}
	return all
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

func namedWorkloads() []named {
	var all []named
	for _, w := range workloads.All() {
		var needs []string
		for _, n := range w.Needs {
			needs = append(needs, n.What)
		}
		n := named{Name: w.Name, About: w.About}
		if len(needs) > 0 {
			n.Notes = "asks a lock for " + strings.Join(needs, "; ")
		}
		all = append(all, n)
	}
	return all
}

func namedCheckers() []named {
	var all []named
	for _, c := range checker.Checks() {
		all = append(all, named{Name: c.Name, About: c.About})
	}
	return all
}

// namedRules returns the rules of findings.
func namedRules() []named {
	var all []named
	for _, r := range checker.Rules() {
		all = append(all, named{Name: r.Name, About: r.About, Notes: "a finding of " + r.Check})
	}
	return all
}

func namedWorlds() []named {
	var all []named
	for _, w := range run.Worlds(run.WorldOptions{}) {
		d := w.Describe()
		all = append(all, named{Name: w.Name(), About: d.What, Notes: fmt.Sprintf(
			"for each lock at most %d clients (%s) and %d servers (%s)", d.Clients.Max, d.Clients.Why, d.Servers.Max, d.Servers.Why)})
	}
	return all
}

func namedServices() []named {
	var all []named
	for _, s := range services.All() {
		var forms []string
		for _, t := range s.Topologies {
			forms = append(forms, string(t.Name))
		}
		all = append(all, named{
			Name: s.Name, About: s.Needs.Command() + " of version " + s.Needs.Least + " or newer",
			Notes: "topologies " + strings.Join(forms, ", "),
		})
	}
	return all
}

// namedSettings returns the settings of all services. Notes say why a scenario cannot set the others.
func namedSettings() []named {
	var all []named
	for _, s := range services.All() {
		for _, set := range s.Settings {
			n := named{Name: set.Name, About: set.About, Notes: "a setting of " + s.Name}
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

// claimed describes the capabilities of a lock.
func claimed(c locks.Claims) []string {
	var words []string
	for _, claim := range []struct {
		made bool
		word string
	}{
		{c.Bounded, "leases end by themselves"}, {c.Renewed, "keeps leases alive"}, {c.Session, "holds end with the connection"}, {c.Watched, "tells of a loss"},
		{c.Fenced, "fencing tokens"}, {c.Waits, "waits"}, {c.Fair, "fair"}, {c.Reentrant, "re-entrant"},
		{c.Shared, "can be shared"}, {c.Several, "several names at once"}, {c.Strict, "refuses only what is held"},
	} {
		if claim.made {
			words = append(words, claim.word)
		}
	}
	return words
}
