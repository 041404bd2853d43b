// Docgen writes the generated parts of the documentation: tables and pictures from the files in results/, and tables from the
// catalog of locks, scenarios, services, comments of structs and adapters, and programs of findings. Run it in the top folder:
//
//	go run ./internal/docgen                  write the pages and pictures
//	go run ./internal/docgen -collect FOLDER  first take the results of the runs below a folder: make measure does so
//	go run ./internal/docgen -points FOLDER   first take how often the points of scenarios happened in these runs
//	go run ./internal/docgen -doors FOLDER    first take the results of results/doors.sh
//	go run ./internal/docgen -power FOLDER    first take the results of results/power-loss.sh
//	go run ./internal/docgen -sets FOLDER     first take the results of explore --faults, NAME.json for each lock and workload
//	go run ./internal/docgen -site FOLDER     write only the page of all cells, FOLDER/index.html: make site does so
//
// A test of this package fails if a page or a picture is not current.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"lockbench/internal/report"
)

// block is a generated part of a page, which stands between <!-- NAME --> and <!-- /NAME -->.
type block struct {
	page, name, from string
	text             func() (string, error)
}

// blocks are all generated parts but those that are made from the inside of cmd/lockbench, scenarios and internal/run: their tests write them.
func blocks() []block {
	return slices.Concat(measuredBlocks(), setBlocks(), libraryBlocks(), codeBlocks(), fieldBlocks(), findingBlocks(), upstreamBlocks())
}

// measuredBlocks are the parts of pages that come from results.
func measuredBlocks() []block {
	return []block{
		{"README.md", "measured", cellsFile, cellsBlock(readme)},
		{"docs/locks.md", "measured", cellsFile, cellsBlock(locksPage)},
		{"docs/questions.md", "measured", cellsFile, cellsBlock(questionsPage)},
		{"docs/redisson.md", "measured", cellsFile, cellsBlock(portsPage)},
		{"docs/conformance.md", "measured", doorsFile, doorsBlock},
		{"docs/reference/points.md", "measured", pointsFile, pointsBlock},
		{"docs/services.md", "measured", powerFile, powerBlock},
	}
}

// current returns a page, and the page as it should be.
func (b block) current() (is, want string, err error) {
	text, err := os.ReadFile(b.page)
	if err != nil {
		return "", "", err
	}
	made, err := b.text()
	if err != nil {
		return "", "", fmt.Errorf("make block %s of %s: %w", b.name, b.page, err)
	}
	begin, end := "<!-- "+b.name+" -->\n", "<!-- /"+b.name+" -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", "", fmt.Errorf("%s has no %s ... %s", b.page, strings.TrimSpace(begin), end)
	}
	return string(text), before + begin + made + end + after, nil
}

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
	}
	os.Exit(exitCode(err))
}

// exitCode is 3 if results cannot be published, as for a run without a result, and 1 for other errors.
func exitCode(err error) int {
	if errors.As(err, new(badData)) {
		return report.ExitHarness
	}
	if err != nil {
		return 1
	}
	return 0
}

// noResults is the error for a folder without results. The file of results stays as it is.
func noResults(folder string) error { return fmt.Errorf("there are no results in %s", folder) }

func run(args []string) error {
	flags := flag.NewFlagSet("docgen", flag.ContinueOnError)
	for name, take := range map[string]func(folder string) error{
		"collect": addCells, "points": addPoints, "doors": addDoors, "power": takePower, "sets": addSets,
	} {
		flags.Func(name, "first take the results in this `folder`", take)
	}
	site := flags.String("site", "", "write the page of all cells into this `folder`, and nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *site != "" {
		return writeSite(*site)
	}
	for _, b := range blocks() {
		is, want, err := b.current()
		if err == nil && is != want {
			err = os.WriteFile(b.page, []byte(want), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return draw()
}
