package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lockbench/internal/questions"
)

// findingBlocks are the parts of the pages of findings that come from the programs and results next to them.
func findingBlocks() []block {
	return []block{
		{findingsPage, "programs", "docs/findings/repro", programRows},
		{"docs/findings/redisson-4.7.0.md", "questions", "docs/findings/redisson-4.7.0.csv", redissonRows},
		{"docs/findings/redisson-4.7.0.md", "options", "docs/findings/redisson-4.7.0.csv", redissonOptionRows},
	}
}

// upstreamBlocks puts the programs of docs/findings/repro into the reports that can be sent to the projects.
func upstreamBlocks() (all []block) {
	reports, _ := filepath.Glob("docs/findings/repro/*/upstream.md") // fails for a wrong pattern only
	for _, report := range reports {
		folder := filepath.Dir(report)
		all = append(all, block{report, "program", folder, func() (string, error) { return programIn(folder) }})
	}
	return all
}

// programIn returns the source of the program in a folder.
func programIn(folder string) (string, error) {
	sources, err := filepath.Glob(filepath.Join(folder, "[Mm]ain.*"))
	if err != nil || len(sources) != 1 {
		return "", fmt.Errorf("%s: found %q, expected one program: %v", folder, sources, err)
	}
	text, err := os.ReadFile(sources[0])
	language := strings.TrimPrefix(filepath.Ext(sources[0]), ".")
	return "```" + language + "\n" + strings.TrimSpace(string(text)) + "\n```\n", err
}

// programRows lists the programs of findings/repro with their recorded results.
func programRows() (string, error) {
	results, err := readCSV("docs/findings/repro/results.csv")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, r := range results {
		program, err := os.ReadFile("docs/findings/repro/" + r[0] + "/run.sh")
		if err != nil {
			return "", err
		}
		shows := strings.TrimPrefix(strings.Split(string(program), "\n")[1], "# ")
		_, library, _ := strings.Cut(r[1], ":")
		if library == "" {
			library = r[1][strings.LastIndex(r[1], "/")+1:]
		}
		report := fmt.Sprintf("[to send](repro/%s/upstream.md)", r[0])
		if public := publicReport.FindStringSubmatch(string(program)); public != nil {
			report = fmt.Sprintf("[%s#%s](%s)", public[2], public[3], public[1])
		}
		rows = append(rows, []string{fmt.Sprintf("[%s](repro/%s/run.sh)", r[0], r[0]), strings.TrimSuffix(shows, "."), library + " " + r[2], r[3], r[4], report})
	}
	return table([]string{"program", "shows", "version", "tried", "defect", "report"}, rows), nil
}

// publicReport finds the line of a program that names the public report of its defect.
var publicReport = regexp.MustCompile(`(?m)^upstream=(https://github\.com/[^/]+/([^/]+)/(?:issues|pull)/(\d+))$`)

// measured is a row of findings/redisson-4.7.0.csv, which has the runs of the locks of Redisson's jar. The file stands for
// itself, because the page describes one version at one commit.
type measured struct {
	scenario, lock, options, verdict, class, violating, counted, lost, outage string
}

func redissonRuns() (runs []measured, err error) {
	rows, err := readCSV("docs/findings/redisson-4.7.0.csv")
	for _, r := range rows {
		runs = append(runs, measured{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]})
	}
	return runs, err
}

// cell is the verdict with the number of episodes in which the point of the scenario happened.
func (m measured) cell() string {
	text := m.violating + " of " + m.counted
	switch {
	case m.counted == "0":
		return "none counts"
	case m.verdict == "unknown":
		return "? of " + m.counted
	case m.violating != "0":
		return "**" + m.class + "** " + text
	}
	return text
}

// questionOptions are the options with which a scenario was run for all locks: a cut of three leases takes 90 s without.
var questionOptions = map[string]string{"cut-off-holder": "watchdog=2s"}

// redissonRows answers the questions for the locks of Redisson's jar.
func redissonRows() (string, error) {
	head := []string{"question", "scenario"}
	found := map[[2]string]string{}
	columns := []string{"RLock", "Fair", "ReadWrite", "Multi", "Fenced", "Spin", "RedLock", "RLock version=3.15.6", "RLock version=3.13.6"}
	for _, c := range columns {
		head = append(head, strings.Replace(c, "version=", "of ", 1))
	}
	runs, err := redissonRuns()
	if err != nil {
		return "", err
	}
	for _, m := range runs {
		options := strings.Fields(m.options)
		if wanted := questionOptions[m.scenario]; wanted != "" {
			i := slices.Index(options, wanted)
			if i < 0 {
				continue
			}
			options = slices.Delete(options, i, i+1)
		}
		found[[2]string{m.scenario, strings.TrimSpace(m.lock + " " + strings.Join(options, " "))}] = m.cell()
	}
	var rows [][]string
	for _, q := range questions.All() {
		row := []string{q.Text, "`" + q.Scenario + "`"}
		for _, c := range columns {
			row = append(row, found[[2]string{q.Scenario, c}])
		}
		rows = append(rows, row)
	}
	return table(head, rows), nil
}

// redissonOptionRows has the runs with other options than those of redissonRows, and next to each what the defaults do.
func redissonOptionRows() (string, error) {
	runs, err := redissonRuns()
	if err != nil {
		return "", err
	}
	defaults := map[string]measured{}
	for _, m := range runs {
		if m.options == "" {
			defaults[m.scenario+m.lock] = m
		}
	}
	var rows [][]string
	for _, m := range runs {
		if m.options == "" || strings.Contains(m.options, "version=") || m.lock != "RLock" {
			continue
		}
		with, none := m, defaults[m.scenario+m.lock]
		noneCell, noneOutage := "", ""
		if none.scenario != "" {
			noneCell, noneOutage = none.cell(), none.outage
		}
		rows = append(rows, []string{"`" + m.scenario + "`", "`" + m.options + "`", with.cell(), with.outage, noneCell, noneOutage})
	}
	return table([]string{"scenario", "option", "result", "longest outage, s", "defaults", "longest outage, s"}, rows), nil
}
