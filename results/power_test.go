package results

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/report"
	services "lockbench/internal/service/catalog"
)

// powerFile says in how many episodes a loss of power broke a lock, for each service and each setting of when it syncs.
const powerFile = "power-loss.csv"

var powerRuns = flag.String("power", "", "first take the results of results/power-loss.sh in this `folder`, which must be absolute")

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

// TestPowerLoss compares the table of losses of power with the file. With -update it writes the table, and -power takes the
// results of a folder into the file.
func TestPowerLoss(t *testing.T) {
	if *powerRuns != "" {
		all, err := collectPower(*powerRuns)
		if err == nil {
			err = writeTable(powerFile, all)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := readTable[power](powerFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if _, known := services.Find(p.Service); !known || p.Episodes < p.Counted || p.Counted < p.Violated {
			t.Errorf("%s has an impossible line: %+v", powerFile, p)
		}
	}
	showBlock(t, "../docs/services.md", powerFile, powerTable(all))
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
