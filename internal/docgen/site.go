package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/questions"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/shellword"
	"lockbench/internal/stats"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

//go:embed site.tmpl.html
var siteMarkup string

//go:embed site.css
var siteStyle string

//go:embed site.js
var siteScript string

var sitePage = template.Must(template.New("site").Funcs(template.FuncMap{"inc": func(n int) int { return n + 1 }}).Parse(siteMarkup))

// badData is an error of the files in results/. The page is not written.
type badData struct{ problem, remedy string }

func (e badData) Error() string { return e.problem + "\n" + e.remedy }

const (
	measureFirst = "Measure first: make measure FILE=campaigns/libraries.yaml"
	measureAgain = "Restore the files with git checkout results, or measure all campaigns at one commit with make measure FILE=..."
)

// published is the checked data of the page.
type published struct {
	cells   []cell
	batches []batch
	stories map[place]story
}

// readPublished reads the cells, their batches and their counterexamples. All cells must be possible, and of one commit.
func readPublished() (*published, error) {
	p := &published{stories: map[place]story{}}
	var err error
	if p.cells, err = readTable[cell](cellsFile); err != nil {
		return nil, unreadable(err)
	}
	if len(p.cells) == 0 {
		return nil, badData{cellsFile + " has no cell.", measureFirst}
	}
	if p.batches, err = readTable[batch](batchesFile); err != nil {
		return nil, unreadable(err)
	}
	stories, err := readTable[story](storiesFile)
	if err != nil {
		return nil, unreadable(err)
	}
	violated := map[place]bool{}
	for i, c := range p.cells {
		if wrong := c.impossible(); wrong != "" {
			return nil, badData{fmt.Sprintf("%s:%d: %s in %s, world %s: %s.", cellsFile, i+2, c.Lock, c.Scenario, c.World, wrong), measureAgain}
		}
		if _, twice := violated[c.place()]; twice {
			return nil, badData{fmt.Sprintf("%s:%d: %s in %s, world %s, is there twice.", cellsFile, i+2, c.Lock, c.Scenario, c.World), measureAgain}
		}
		violated[c.place()] = c.Verdict == "violated"
	}
	for i, s := range stories {
		if !violated[s.place()] {
			return nil, badData{fmt.Sprintf("%s: story %d is of %s in %s, world %s, which is not a violated cell.", storiesFile, i+1, s.Lock, s.Scenario, s.World), measureAgain}
		}
		p.stories[s.place()] = s
	}
	if err := oneCommit(p.cells, p.batches); err != nil {
		return nil, badData{err.Error(), measureAgain}
	}
	return p, nil
}

// unreadable is the error for a file that is missing or damaged.
func unreadable(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return badData{err.Error() + ".", measureFirst}
	}
	return badData{"A file of results is damaged: " + err.Error() + ".", measureAgain}
}

// impossible returns why the cell cannot be the result of runs, or "".
func (c cell) impossible() string {
	s, err := scenarios.Load(c.Scenario)
	if err != nil {
		return "no scenario has this name"
	}
	if _, known := lockIn(s, c.Lock); !known {
		return "no lock has this name"
	}
	if !slices.Contains(severity, c.Verdict) {
		return fmt.Sprintf("%q is not a verdict", c.Verdict)
	}
	for _, f := range []figure{c.Violating, c.Episodes, c.LostWrites} {
		if f.value < 0 || f.value != float64(f.n()) {
			return fmt.Sprintf("%v is not a number of episodes or writes", f)
		}
	}
	if c.Violating.value > c.Episodes.value {
		return fmt.Sprintf("%v of %v episodes are violated", c.Violating, c.Episodes)
	}
	if !(c.OutageS.value >= 0) {
		return fmt.Sprintf("%v is not a number of seconds", c.OutageS)
	}
	return ""
}

// lockIn returns the lock with a name of the catalog or of a scenario, which can give a lock with options a name.
func lockIn(s *scenarios.Scenario, lock string) (catalog.Lock, bool) {
	name, _, _ := strings.Cut(lock, "/")
	for _, use := range s.Locks {
		if use.Name == name {
			name = use.Use
		}
	}
	return catalog.Find(name)
}

// siteRow is a cell on the page.
type siteRow struct {
	cell
	ID, Question, About, Version, Service string
	Family                                family
	Outcome                               outcome
	Low, High                             float64 // the bounds of the rate, in percent
	Number                                int     // of its batch
	Command, Build, Finding               string
	Story                                 [][]string // the fields of its lines
}

// Href links to the row.
func (r siteRow) Href() template.URL { return template.URL("#" + r.ID) }

// Counts tells whether there is a rate.
func (r siteRow) Counts() bool { return r.Episodes.n() > 0 }

// Rank orders rows by their outcomes.
func (r siteRow) Rank() int { return slices.Index(outcomes, r.Outcome) }

// Rate is the rate in percent.
func (r siteRow) Rate() float64 { return 100 * r.Violating.value / r.Episodes.value }

// rowOf makes the row of a cell.
func (p *published) rowOf(c cell) (siteRow, error) {
	s, err := scenarios.Load(c.Scenario)
	if err != nil {
		return siteRow{}, err
	}
	l, _ := lockIn(s, c.Lock)
	r := siteRow{
		cell: c, About: strings.Join(strings.Fields(s.About), " "), ID: c.World + "/" + c.Scenario + "/" + c.Lock, Version: versionOf(l, c.Lock), Service: cmp.Or(l.Service, "none"), Outcome: c.outcome(),
		Number: 1 + slices.IndexFunc(p.batches, func(b batch) bool { return b.Batch == c.Batch }),
	}
	for _, f := range families() {
		if f.takes(l) {
			r.Family = f
		}
	}
	r.Question, _, _ = strings.Cut(strings.TrimSuffix(r.About, "."), ". ")
	for _, q := range questions.All() {
		if q.Scenario == c.Scenario {
			r.Question = q.Text
		}
	}
	if r.Counts() {
		low, high := stats.Bounds(c.Violating.n(), c.Episodes.n())
		r.Low, r.High = 100*low, 100*high
	}
	seed, _, _ := strings.Cut(p.batches[r.Number-1].Seeds, "..")
	if s, ok := p.stories[c.place()]; ok {
		seed = s.Seed
		for _, line := range strings.Split(s.Text, "\n") {
			r.Story = append(r.Story, strings.Split(line, "\t"))
		}
	}
	run := c.Lock
	if c.Lock != "no-lock" {
		run = "no-lock," + c.Lock
	}
	r.Command = fmt.Sprintf("lockbench run %s --world %s --locks %s --seed %s", c.Scenario, c.World, shellword.Quote(run), seed)
	if l.Library != nil {
		_, target := l.Library.Served()
		if len(l.Library.Guests) > 0 {
			target = "guests"
		}
		r.Build = "make " + target
	}
	r.Finding = c.finding(len(r.Story) > 0, l.Control())
	return r, nil
}

// finding says in a sentence what a cell without a counterexample shows.
func (c cell) finding(shown, control bool) string {
	switch {
	case shown:
		return ""
	case c.Verdict == noPart:
		return "The lock cannot take part in this scenario, or no fault of the scenario concerns it."
	case c.Episodes.n() == 0:
		return "No episode counts: the point of the scenario did not happen with this lock."
	case c.undecided():
		return "The runs are undecided."
	case c.Verdict != "violated":
		return fmt.Sprintf("Nothing was found in %s, which does not prove that the lock is safe.", report.Plural(c.Episodes.n(), "counted episode"))
	case control:
		return "This is a control. Its violations show that the workload notices clients that hold a lock at the same time."
	}
	return "The counterexample of this cell was not kept. The command shows one."
}

// versionOf is the version of the library of a lock, which an option can choose.
func versionOf(l catalog.Lock, lock string) string {
	if l.Library == nil {
		return ""
	}
	if _, version, chosen := strings.Cut(lock, "version="); chosen {
		version, _, _ = strings.Cut(version, "/")
		return version
	}
	if guests := l.Library.Guests; len(guests) > 1 { // the first one is the default
		_, version, _ := strings.Cut(guests[0], "-")
		return version
	}
	version, _, _ := strings.Cut(l.Library.Version, " (")
	return version
}

// picture is a picture of a family, which the page contains.
type picture struct {
	Title, Text string
	Data        template.URL
}

// drawings draws the pictures of the families. As images they keep their styles for themselves.
func (p *published) drawings() (all []picture) {
	for _, some := range allParts(p.cells, p.batches) {
		data := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(some.svg())
		all = append(all, picture{Title: some.title, Text: some.summary(), Data: template.URL(data)})
	}
	return all
}

// siteView is the data of the page.
type siteView struct {
	CSS      template.CSS
	JS       template.JS
	Commit   string
	Facts    []string
	Batches  []batch
	Pictures []picture
	Rows     []siteRow
	Legend   []outcome
	// The values of the filters.
	Worlds, Scenarios, Locks, Verdicts []string
	Families                           []family
}

// The template reads these.
func (o outcome) Class() string { return o.class }
func (o outcome) Words() string { return o.words }
func (o outcome) Sign() string {
	if o == held {
		return "✓"
	}
	return cmp.Or(o.sign, "·")
}

func (f family) Name() string  { return f.name }
func (f family) Title() string { return f.title }

// siteColors has the colors of the pictures as rules of the page.
func siteColors() string {
	rules := func(p palette) (css string) {
		for _, o := range outcomes {
			if color := p.cells[o.class]; color != "" {
				css += fmt.Sprintf(".v.%s{background:%s;color:%s}", o.class, color, p.text)
			}
		}
		return css
	}
	return rules(light) + "@media (prefers-color-scheme:dark){" + rules(dark) + "}"
}

// render makes the page.
func (p *published) render() ([]byte, error) {
	v := siteView{
		CSS: page.Shared().CSS + template.CSS(siteStyle+siteColors()), JS: template.JS(siteScript),
		Commit: p.batches[0].commit(), Batches: p.batches, Pictures: p.drawings(), Legend: outcomes,
	}
	episodes := 0
	for _, c := range p.cells {
		r, err := p.rowOf(c)
		if err != nil {
			return nil, err
		}
		v.Rows = append(v.Rows, r)
		episodes += c.Episodes.n()
		v.Worlds, v.Scenarios = append(v.Worlds, c.World), append(v.Scenarios, c.Scenario)
		v.Locks, v.Verdicts = append(v.Locks, c.Lock), append(v.Verdicts, r.Outcome.words)
	}
	for _, names := range []*[]string{&v.Worlds, &v.Scenarios, &v.Locks, &v.Verdicts} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	for _, f := range families() {
		if slices.ContainsFunc(v.Rows, func(r siteRow) bool { return r.Family.name == f.name }) {
			v.Families = append(v.Families, f)
		}
	}
	v.Facts = []string{
		report.Plural(len(v.Rows), "cell"), report.Plural(len(v.Locks), "lock"), report.Plural(len(v.Scenarios), "scenario"),
		report.Plural(episodes, "counted episode"), report.Plural(len(p.stories), "counterexample"),
	}
	var b bytes.Buffer
	if err := sitePage.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("make the page: %w", err)
	}
	return b.Bytes(), nil
}

// writeSite writes the page of all cells into a folder. It replaces an old page only when the new one is complete.
func writeSite(dir string) error {
	p, err := readPublished()
	if err != nil {
		return err
	}
	text, err := p.render()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(dir, ".index-*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name()) // fails after the rename
	_, writeErr := fresh.Write(text)
	if err := errors.Join(writeErr, fresh.Chmod(0o644), fresh.Close()); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), filepath.Join(dir, "index.html"))
}
