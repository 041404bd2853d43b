package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lockbench/locks/catalog"
)

// The sources of the pages about libraries, next to what was measured.
const (
	findingsPage = "docs/findings/README.md" // has a table of findings
	catalogCode  = "locks/catalog"
)

// adapterFolders have the programs that serve libraries.
var adapterFolders = []string{"guests", "more/libraries", "more/guests", "more/kubelease", "examples/python-guest"}

// libraryPage is docs/libraries/NAME.md, about the locks of the catalog that are one library to its users.
type libraryPage struct {
	name  string
	locks []string
	// findings are words in the first column of the table of findings that name the library.
	findings []string
}

func libraryPages() []libraryPage {
	return []libraryPage{
		{"redisson", []string{"redisson", "redisson-fair", "redisson-rw", "redisson-fenced", "redisson-spin", "redisson-multi", "redisson-redlock"},
			[]string{"Redisson (Maven)", "RLock with WAIT"}},
		{"redsync", []string{"redsync", "redsync-redigo", "redsync-rueidis"}, []string{"redsync"}},
		{"redislock", []string{"redislock"}, []string{"redislock", "go-redis, `ClusterClient`"}},
		{"rueidislock", []string{"rueidislock", "valkeylock"}, []string{"rueidislock"}},
		{"shedlock", []string{"shedlock-redis", "shedlock-jdbc", "shedlock-jdbc-mariadb"}, []string{"ShedLock"}},
		{"spring", []string{"spring-redis", "spring-jdbc", "spring-jdbc-mariadb"}, nil},
		{"node-redlock", []string{"node-redlock-4", "node-redlock-5"}, []string{"redlock (npm)"}},
		{"redis-semaphore", []string{"redis-semaphore", "redis-semaphore-redlock"}, []string{"redis-semaphore"}},
		{"redis-py", []string{"redis-py", "redis-py-pypi"}, nil},
		{"etcd", []string{"etcd-mutex"}, []string{"etcd client"}},
		{"curator", []string{"zk-curator", "curator"}, nil},
		{"kazoo", []string{"zk-kazoo", "kazoo"}, []string{"kazoo"}},
		{"kube-lease", []string{"kube-lease", "kube-lease-java"}, []string{"client-go"}},
	}
}

// pageOf returns the name of the page about a lock, or "".
func pageOf(lock string) string {
	for _, p := range libraryPages() {
		if slices.Contains(p.locks, lock) {
			return p.name
		}
	}
	return ""
}

// libraryBlocks are the parts of pages that come from the catalog and from adapters.
func libraryBlocks() []block {
	all := []block{
		{"docs/locks.md", "locks", catalogCode, lockRows},
		{"docs/libraries.md", "pages", catalogCode + " and docs/libraries", pageRows},
		{"docs/libraries.md", "libraries", catalogCode, libraryRows},
		{"docs/libraries.md", "adds", strings.Join(adapterFolders, ", "), addedRows},
	}
	for _, p := range libraryPages() {
		all = append(all, block{p.file(), "library", catalogCode + " and results", p.text})
	}
	return all
}

// text is the generated part of a page.
func (p libraryPage) text() (string, error) {
	cells, err := readTable[cell](cellsFile)
	if err != nil {
		return "", err
	}
	batches, err := readTable[batch](batchesFile)
	if err != nil {
		return "", err
	}
	doors, err := readTable[door](doorsFile)
	if err != nil {
		return "", err
	}
	adds, err := additions()
	if err != nil {
		return "", err
	}
	findings, err := p.findingRows()
	if err != nil {
		return "", err
	}
	return p.questions(cells, batches) + findings + p.doors(doors) + p.versions() + p.adapter(adds), nil
}

// versions has a row for each lock: what it is, and what its documentation promises.
func (p libraryPage) versions() string {
	var rows [][]string
	for _, name := range p.locks {
		l, _ := catalog.Find(name)
		sim := "yes"
		if l.Library.Real {
			sim = "no"
		}
		rows = append(rows, []string{"`" + name + "`", l.About, runsOn(l), l.Library.Version, sim, l.Library.Says + " (" + l.Library.Where + ")"})
	}
	return "## Versions\n\n" + table([]string{"lock", "", "runs on", "version", "in `sim`", "what its documentation says"}, rows) + "\n"
}

// adapter lists what the adapter adds to the library.
func (p libraryPage) adapter(all []addition) string {
	text := ""
	for _, a := range all {
		of := a.of(p.locks)
		switch {
		case len(of) == len(p.locks):
			text += "- " + a.text + "\n"
		case len(of) > 0:
			text += "- " + coded(strings.Join(of, " ")) + ": " + a.text + "\n"
		}
	}
	if text == "" {
		return "The adapter adds nothing.\n"
	}
	return "The adapter adds, by its comments:\n\n" + text
}

// questions has the answers to the ten questions.
func (p libraryPage) questions(cells []cell, batches []batch) string {
	columns, missing := family{takes: func(l catalog.Lock) bool { return slices.Contains(p.locks, l.Name) }}.columns(cells)
	columns = slices.DeleteFunc(append(columns, missing...), isPort)
	at, _ := index(cells, measuredIn, columns)
	part := part{locks: columns, at: at, batches: batches}
	text := "## Ten questions\n\nEach cell has the violated and the counted episodes, in world `" + measuredIn + "` ([how to read them](../questions.md)). An empty cell was not measured.\n\n"
	if shown := part.shown(); len(shown) > 0 {
		text += measuredBy(shown, batches) + "\n"
	}
	return text + strings.TrimRight(part.tables(), "\n") + "\n\n"
}

// doors has a row for each group of calls that broke and left undecided the same rules.
func (p libraryPage) doors(all []door) string {
	type outcome struct{ lock, topology, broken, undecided string }
	var order []outcome
	kept := map[outcome][]string{}
	for _, name := range p.locks {
		for _, d := range all {
			if d.Lock != name {
				continue
			}
			o := outcome{name, d.Topology, d.Broken, d.Undecided}
			if kept[o] == nil {
				order = append(order, o)
			}
			text := fmt.Sprint(d.Kept)
			if d.Call != "" {
				text = coded(d.Call) + " " + text
			}
			kept[o] = append(kept[o], text)
		}
	}
	var rows [][]string
	for _, o := range order {
		l, _ := catalog.Find(o.lock)
		rows = append(rows, []string{
			"`" + o.lock + "`", o.topology, strings.Join(kept[o], ", "), coded(o.broken), coded(o.undecided), coded(strings.Join(slices.Sorted(maps.Keys(l.Excused)), " ")),
		})
	}
	return "## Conformance\n\nRules that each call kept, without faults ([rules, and reasons of broken ones](../conformance.md#libraries)).\n\n" +
		table([]string{"lock", "on", "kept", "broken", "undecided", "not run"}, rows) + "\n"
}

// findingRows has the rows of the table of findings that are about the library.
func (p libraryPage) findingRows() (string, error) {
	page, err := os.ReadFile(findingsPage)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for line := range strings.Lines(string(page)) {
		columns := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(columns) != 5 {
			continue
		}
		of := func(word string) bool { return strings.Contains(columns[0], word) }
		if slices.ContainsFunc(p.findings, of) {
			rows = append(rows, []string{finding.ReplaceAllString(columns[2], "](../findings/$1)"), columns[1], columns[3], strings.TrimSpace(columns[4])})
		}
	}
	switch {
	case len(p.findings) == 0:
		return "", nil
	case len(rows) == 0:
		return "", fmt.Errorf("%s has no finding about %v", findingsPage, p.findings)
	}
	return "## Findings\n\n" + table([]string{"finding", "version", "class", "upstream"}, rows) + "\n", nil
}

// finding is a link to a report, from the page of findings.
var finding = regexp.MustCompile(`\]\(([\w.-]+\.md)\)`)

// file is the path of the page.
func (p libraryPage) file() string { return "docs/libraries/" + p.name + ".md" }

// fits is the sentence of a page that says what the library is good for.
var fits = regexp.MustCompile(`(?s)\bIt fits (.+?)\.\s`)

// pageRows has a row for each library with a page: its locks, its servers, and the need that it fits.
func pageRows() (string, error) {
	var rows [][]string
	for _, p := range libraryPages() {
		page, err := os.ReadFile(p.file())
		if err != nil {
			return "", err
		}
		title, _, _ := strings.Cut(string(page), "\n")
		need := fits.FindStringSubmatch(string(page))
		if need == nil {
			return "", fmt.Errorf("%s does not say what it fits", p.file())
		}
		var servers []string
		for _, name := range p.locks {
			if l, _ := catalog.Find(name); !slices.Contains(servers, l.Service) {
				servers = append(servers, l.Service)
			}
		}
		rows = append(rows, []string{
			fmt.Sprintf("[%s](libraries/%s.md)", strings.TrimPrefix(title, "# "), p.name), strings.Join(servers, ", "), oneLine(need[1]), coded(strings.Join(p.locks, " ")),
		})
	}
	return table([]string{"library", "servers", "it fits", "locks"}, rows), nil
}

// libraryRows has a row for each lock of a library without a page.
func libraryRows() (string, error) {
	var rows [][]string
	for _, l := range catalog.All() {
		if l.Library != nil && pageOf(l.Name) == "" {
			rows = append(rows, []string{"`" + l.Name + "`", runsOn(l), l.About, l.Library.Version})
		}
	}
	return table([]string{"lock", "runs on", "", "version"}, rows), nil
}

// addition is something that an adapter adds to libraries, whose names are patterns.
type addition struct {
	names []string
	text  string
}

// of returns the locks among names to which the adapter adds this.
func (a addition) of(names []string) (found []string) {
	for _, name := range names {
		if slices.ContainsFunc(a.names, func(pattern string) bool {
			matched, err := filepath.Match(pattern, name)
			return err == nil && matched
		}) {
			found = append(found, name)
		}
	}
	return found
}

// added is a comment of an adapter that states something that the adapter adds to some libraries.
var added = regexp.MustCompile(`(?m)^\s*(?://|#|\*)\s+adds ([\w*, -]+): (.+)$`)

// additions reads what adapters add to libraries from the comments of the adapters.
func additions() (all []addition, err error) {
	var libraries []string
	for _, l := range catalog.All() {
		if l.Library != nil {
			libraries = append(libraries, l.Name)
		}
	}
	for _, root := range adapterFolders {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !slices.Contains([]string{".java", ".mjs", ".py", ".rs", ".go"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range added.FindAllStringSubmatch(string(text), -1) {
				a := addition{strings.Split(found[1], ", "), found[2]}
				for _, name := range a.names {
					if (addition{[]string{name}, ""}).of(libraries) == nil {
						return fmt.Errorf("%s: %s is not a library", path, name)
					}
				}
				all = append(all, a)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b addition) int { return slices.Compare(a.names, b.names) })
	return all, nil
}

// addedRows has a row for each thing that adapters add to libraries without a page.
func addedRows() (string, error) {
	all, err := additions()
	if err != nil {
		return "", err
	}
	var others []string
	for _, l := range catalog.All() {
		if l.Library != nil && pageOf(l.Name) == "" {
			others = append(others, l.Name)
		}
	}
	var rows [][]string
	for _, a := range all {
		if of := a.of(others); of != nil {
			rows = append(rows, []string{coded(strings.Join(of, " ")), a.text})
		}
	}
	return table([]string{"libraries", "what the adapter adds"}, rows), nil
}
