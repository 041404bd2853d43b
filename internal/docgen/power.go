package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
)

// powerFile says in how many episodes a loss of power broke a lock, for each service and each setting of when it syncs.
const powerFile = "results/power-loss.csv"

// power is the result of one run. Found is empty, or the class and the rules of what was found, or why there is no verdict.
type power struct {
	Scenario, Service, Setting, Servers, Lock, Names string
	Episodes, Counted, Violated                      int
	Found, Versions                                  string
}

// These are the findings where no lock is granted after a loss: a server does not start, or it refuses its clients.
const (
	noRestart = "a server does not start"
	noGrant   = "nothing is granted"
)

// takePower replaces the file by the results of a folder.
func takePower(folder string) error {
	all, err := collectPower(folder)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return noResults(folder)
	}
	return writeTable(powerFile, all)
}

// powerBlock returns the table of losses of power.
func powerBlock() (string, error) {
	all, err := readTable[power](powerFile)
	return powerTable(all), err
}

// collectPower reads the results of results/power-loss.sh.
func collectPower(folder string) (all []power, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", report.ResultFile))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r struct {
			report.Result
			Power struct{ Service, Setting, Names string }
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, l := range r.Locks {
			p := power{
				Scenario: r.Scenario, Service: r.Power.Service, Setting: r.Power.Setting, Names: r.Power.Names, Servers: l.Servers, Lock: l.Lock, Versions: r.WorldAbout,
				Episodes: l.Episodes, Counted: l.Episodes - l.Uncounted, Violated: l.ViolatingEpisodes, Found: found(l),
			}
			if p.Found == "unknown" {
				switch all := string(text); {
				case strings.Contains(all, "it ended at once"):
					p.Found = noRestart
				case strings.Contains(all, "grants after the last heal: 0"):
					p.Found = noGrant
				}
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b power) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Servers, b.Servers), cmp.Compare(a.Lock, b.Lock),
			cmp.Compare(a.Setting, b.Setting), cmp.Compare(a.Names, b.Names))
	})
	return all, nil
}

// found returns the class and the rules of the findings, or a verdict without findings.
func found(l report.Lock) string {
	switch {
	case l.Error != "":
		return "failed"
	case l.Verdict == checker.Valid:
		return ""
	case l.Verdict != checker.Violated:
		return "unknown"
	}
	var words []string
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			if word := cmp.Or(f.Class.String(), f.Rule); !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// worst returns the class of the findings, or else their rules. Lost grants are bold.
func worst(found string) string {
	switch {
	case strings.Contains(found, "double-grant"):
		return "**double-grant**"
	case strings.Contains(found, "token-fell"):
		return "**token-fell**"
	}
	return found
}

// powerTable shows a line for each service, setting and lock, with both readings of POSIX.
func powerTable(all []power) string {
	var out strings.Builder
	out.WriteString("| scenario | servers | setting | lock | names kept | names lost |\n| --- | --- | --- | --- | --- | --- |\n")
	type line struct{ scenario, servers, setting, lock string }
	var lines []line
	cells := map[line]map[string]string{}
	for _, p := range all {
		servers := p.Servers
		if !strings.Contains(servers, p.Service) {
			servers += " of " + p.Service
		}
		l := line{p.Scenario, servers, p.Setting, p.Lock}
		if cells[l] == nil {
			cells[l] = map[string]string{}
			lines = append(lines, l)
		}
		cell := fmt.Sprintf("%d of %d", p.Violated, p.Counted)
		switch {
		case p.Found == noRestart, p.Found == noGrant:
			cell = p.Found + " afterwards"
		case p.Violated > 0:
			cell += " " + worst(p.Found)
		case p.Found != "":
			cell = p.Found
		}
		cells[l][p.Names] = cell
	}
	for _, l := range lines {
		setting := "default"
		if l.setting != "" {
			setting = "`" + l.setting + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | `%s` | %s | %s |\n", l.scenario, l.servers, setting, l.lock, cells[l]["kept"], cells[l]["lost"])
	}
	return out.String()
}
