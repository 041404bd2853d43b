package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// findingBlocks are the parts of the pages of findings that come from the programs and results next to them.
func findingBlocks() []block {
	return []block{
		{findingsPage, "programs", "docs/findings/repro", programRows},
		{"docs/findings/redisson-4.7.0.md", "questions", cellsFile, cellsBlock(redissonRows)},
		{"docs/findings/redisson-4.7.0.md", "options", cellsFile, cellsBlock(redissonOptionRows)},
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

// redissonLocks are the columns of the long analysis of Redisson.
var redissonLocks = []string{
	"redisson", "redisson-fair", "redisson-rw", "redisson-multi", "redisson-fenced", "redisson-spin", "redisson-redlock",
	"redisson/version=3.15.6", "redisson/version=3.13.6",
}

// redissonRows answers the questions for the locks of Redisson's jar.
func redissonRows(cells []cell, batches []batch) string {
	at, _ := index(cells, measuredIn, redissonLocks)
	p := part{locks: redissonLocks, at: at, batches: batches}
	return measuredBy(p.shown(), batches) + "\n" + strings.TrimRight(p.tables(), "\n") + "\n"
}

// redissonOptionRows has the results of RLock with other options than the defaults, and next to each what the defaults do.
func redissonOptionRows(cells []cell, _ []batch) string {
	defaults, _ := index(cells, measuredIn, []string{"redisson"})
	var rows [][]string
	for _, c := range cells {
		options, ok := strings.CutPrefix(c.Lock, "redisson/")
		if !ok || c.World != measuredIn || c.Verdict == noPart || slices.Contains(redissonLocks, c.Lock) {
			continue
		}
		row := []string{"`" + c.Scenario + "`", "`" + options + "`", c.mark(), c.OutageS.String(), "", ""}
		if d, ok := defaults[place{measuredIn, c.Scenario, "redisson"}]; ok {
			row[4], row[5] = d.mark(), d.OutageS.String()
		}
		rows = append(rows, row)
	}
	return table([]string{"scenario", "option", "result", "longest outage, s", "defaults", "longest outage, s"}, rows)
}
