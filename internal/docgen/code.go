package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	services "lockbench/internal/service/catalog"
	"lockbench/locks/catalog"
	"lockbench/locks/locktest"
	"lockbench/scenarios"
)

// codeBlocks are the parts of pages that come from scenarios, services, the conformance suite and the catalog.
func codeBlocks() []block {
	return []block{
		{"docs/reference/scenarios.md", "scenarios", "scenarios", scenarioRows},
		{"docs/reference/scenarios.md", "timelines", "scenarios", timelineRows},
		{"docs/conformance.md", "rules", "locks/locktest", ruleRows},
		{"docs/guest-protocol.md", "endpoints", servicesCode, endpointRows},
		{"docs/services.md", "services", servicesCode, serviceRows},
		{"docs/bugs.md", "ids", "scenarios and " + catalogCode, bugRows},
	}
}

const servicesCode = "internal/service/catalog"

// scenarioRows has a row for each scenario, with the faults of an episode and the description from its file.
func scenarioRows() (string, error) {
	var rows [][]string
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name)
		if err != nil {
			return "", err
		}
		faults := "none"
		if len(s.Faults) > 0 {
			var all []string
			for _, step := range s.Faults {
				if fault := "`" + step.Fault + ": " + step.Target + "`"; !slices.Contains(all, fault) {
					all = append(all, fault)
				}
			}
			faults = strings.Join(all, ", ")
		}
		if !s.NoFaults && len(s.Faults) == 0 {
			faults = "random"
		}
		rows = append(rows, []string{"`" + name + "`", faults, oneLine(s.About), strings.Join(s.Shows, ", ")})
	}
	return table([]string{"scenario", "faults", "what it shows", "[bugs](../bugs.md)"}, rows), nil
}

// oneLine replaces line breaks by spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ruleRows has a row for each rule of the conformance suite.
func ruleRows() (string, error) {
	var rows [][]string
	for _, r := range locktest.Rules() {
		rows = append(rows, []string{"`" + r.Name + "`", r.About})
	}
	return table([]string{"rule", "promise"}, rows), nil
}

// serviceRows has a row for each service.
func serviceRows() (string, error) {
	var rows [][]string
	for _, s := range services.All() {
		var topologies []string
		for _, topology := range s.Topologies {
			topologies = append(topologies, "`"+string(topology.Name)+"`")
		}
		needs := s.Needs
		rows = append(rows, []string{"`" + s.Name + "`", "`" + needs.Command() + "`", needs.Least, strings.Join(topologies, ", "), needs.Install})
	}
	return table([]string{"service", "program", "from version", "topologies", "to install it"}, rows), nil
}

// bugRows has a row for each bug that a scenario or a mutant shows.
func bugRows() (string, error) {
	shown := map[string]*[3][]string{} // scenarios, mutants, known from
	add := func(id string, column int, text string) {
		if shown[id] == nil {
			shown[id] = new([3][]string)
		}
		if list := &shown[id][column]; text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name)
		if err != nil {
			return "", err
		}
		for _, id := range s.Shows {
			add(id, 0, "`"+name+"`")
		}
	}
	for _, m := range catalog.Mutants() {
		add(m.Wrong.Bug, 1, "`"+m.Name+"`")
		add(m.Wrong.Bug, 2, m.Wrong.Known)
	}
	numbers := map[string]int{} // 17 for R-17
	for id := range shown {
		_, number, _ := strings.Cut(id, "-")
		n, err := strconv.Atoi(number)
		if err != nil {
			return "", fmt.Errorf("%q is not the id of a bug", id)
		}
		numbers[id] = n
	}
	var rows [][]string
	for _, id := range slices.SortedFunc(maps.Keys(shown), func(a, b string) int { return cmp.Or(cmp.Compare(a[0], b[0]), numbers[a]-numbers[b]) }) {
		of := shown[id]
		rows = append(rows, []string{id, strings.Join(of[0], ", "), strings.Join(of[1], ", "), withIssues(strings.Join(of[2], "; "))})
	}
	return table([]string{"id", "scenarios", "mutants", "known from"}, rows), nil
}

// trackers are the repositories whose issues the catalogue of mutants names.
var trackers = map[string]string{
	"Redisson": "redisson/redisson", "ShedLock": "lukas-krecan/ShedLock", "node-redlock": "mike-marcacci/node-redlock", "redis-py": "redis/redis-py",
	"redis-semaphore": "swarthy/redis-semaphore", "rueidislock": "redis/rueidis",
}

var (
	trackerOrIssue = regexp.MustCompile(`Redisson|ShedLock|node-redlock|redis-py|redis-semaphore|rueidislock|;|#\d+`)
	springIssue    = regexp.MustCompile(`GH-(\d+)`)
)

// withIssues makes links of issues. A number belongs to the project that was named last.
func withIssues(text string) string {
	repository := ""
	text = trackerOrIssue.ReplaceAllStringFunc(text, func(found string) string {
		if number, ok := strings.CutPrefix(found, "#"); ok && repository != "" {
			return fmt.Sprintf("[%s](https://github.com/%s/issues/%s)", found, repository, number)
		} else if !ok {
			repository = trackers[found]
		}
		return found
	})
	return springIssue.ReplaceAllString(text, "[$0](https://github.com/spring-projects/spring-integration/issues/$1)")
}

// endpointRows has a row for each topology of each service, with the endpoints and parameters that a guest gets.
func endpointRows() (string, error) {
	var rows [][]string
	for _, s := range services.All() {
		for _, topology := range s.Topologies {
			entry, which := topology.Entry, fmt.Sprintf("all nodes `%s-1`, `%s-2`, ...", topology.Entry, topology.Entry)
			switch nodes := topology.InPart(topology.Entry); {
			case entry == "":
				entry, which = s.Name, "one address, which leads to the leader"
			case len(nodes) == 1:
				which = "the server"
			}
			params := "none"
			if names := slices.Sorted(maps.Keys(s.Open(topology, nil).Params())); len(names) > 0 {
				params = "`" + strings.Join(names, "`, `") + "`"
			}
			rows = append(rows, []string{"`" + s.Name + "`", "`" + string(topology.Name) + "`", "`" + entry + "`: " + which, params})
		}
	}
	return table([]string{"`service`", "`topology`", "`endpoints`", "`params`"}, rows), nil
}
