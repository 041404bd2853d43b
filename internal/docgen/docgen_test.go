package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockbench/internal/campaign"
	services "lockbench/internal/service/catalog"
	"lockbench/locks/catalog"
)

// inTopFolder makes the test run where the program does.
func inTopFolder(t *testing.T) { t.Chdir("../..") }

// TestPagesAreCurrent: the pages show what was measured.
func TestPagesAreCurrent(t *testing.T) {
	inTopFolder(t)
	for _, b := range blocks() {
		is, want, err := b.current()
		if err != nil {
			t.Error(err)
		} else if is != want {
			t.Errorf("block %s of %s does not show %s; go run ./internal/docgen writes it", b.name, b.page, b.from)
		}
	}
	drawn, err := pictures()
	if err != nil {
		t.Fatal(err)
	}
	files, err := drawnFiles()
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Sorted(maps.Keys(drawn)); !slices.Equal(files, want) {
		t.Errorf("the pictures are %q, expected %q; go run ./internal/docgen draws them", files, want)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || string(text) != string(drawn[file]) {
			t.Errorf("%s does not show the results of %s; go run ./internal/docgen draws it: %v", file, cellsFile, err)
		}
	}
}

// TestRun writes a table of results that it takes first, and keeps the rest of the page.
func TestRun(t *testing.T) {
	inTopFolder(t)
	top := t.TempDir()
	if err := os.CopyFS(filepath.Join(top, "results"), os.DirFS("results")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range append([]string{"docs/findings"}, adapterFolders...) {
		if err := os.CopyFS(filepath.Join(top, folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"checker", "internal", "locks"} {
		here, err := filepath.Abs(folder)
		if err = errors.Join(err, os.Symlink(here, filepath.Join(top, folder))); err != nil {
			t.Fatal(err)
		}
	}
	pages := map[string]string{findingsPage: readFile(t, findingsPage)}
	for _, b := range blocks() {
		if pages[b.page] == "" {
			pages[b.page] = "before\nIt fits a test.\n"
		}
		pages[b.page] += "<!-- " + b.name + " -->\nold\n<!-- /" + b.name + " -->\nafter\n"
	}
	for page, text := range pages {
		page = filepath.Join(top, page)
		if err := errors.Join(os.MkdirAll(filepath.Dir(page), 0o755), os.WriteFile(page, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.Join(top, imagesDir, "questions-old.svg")
	if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o755), os.WriteFile(old, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	doors := filepath.Join(top, "doors")
	if err := os.Mkdir(doors, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"lock":"redsync","call":"","version":"v9","topologies":[{"topology":"independent","rules":[{"rule":"expiry","result":"kept"}]}]}`
	if err := os.WriteFile(filepath.Join(doors, "redsync.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-doors", doors}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/conformance.md")
	if err != nil || !strings.HasPrefix(string(page), "before\n") || !strings.HasSuffix(string(page), "\nafter\n") || !strings.Contains(string(page), "| `redsync` |  | v9 | independent | 1 |") {
		t.Errorf("%v\n%s", err, page)
	}
	drawn, err := drawnFiles()
	if err != nil || len(drawn) == 0 || slices.Contains(drawn, imagesDir+"questions-old.svg") {
		t.Errorf("the pictures are %q, %v", drawn, err)
	}
	for _, of := range []string{"-collect", "-points", "-doors", "-power", "-sets"} {
		if err := run([]string{of, filepath.Join(top, "nothing")}); err == nil {
			t.Errorf("%s takes the results of a folder that does not exist", of)
		}
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryReportHasItsProgram: the reports to send have the source of their program, and no page has two blocks of one name.
func TestEveryReportHasItsProgram(t *testing.T) {
	inTopFolder(t)
	if len(upstreamBlocks()) == 0 {
		t.Error("found no report to send")
	}
	if text, err := programIn("docs/findings"); err == nil {
		t.Errorf("docs/findings has no program, and the text is %q", text)
	}
	seen := map[string]bool{}
	for _, b := range blocks() {
		if name := b.page + " " + b.name; seen[name] {
			t.Errorf("%s is made twice", name)
		} else {
			seen[name] = true
		}
	}
}

// TestLibraryPages: each page of a library is made of locks that are libraries, no lock is on two pages, and the form of a page
// is the one of all: two sentences of verdict, settings, what breaks, and the commands.
func TestLibraryPages(t *testing.T) {
	inTopFolder(t)
	seen := map[string]string{}
	var want []string
	for _, p := range libraryPages() {
		file := p.file()
		want = append(want, file)
		for _, name := range p.locks {
			if l, known := catalog.Find(name); !known || l.Library == nil || seen[name] != "" {
				t.Errorf("%s: lock %s is not a library, or is on page %s, too", p.name, name, seen[name])
			}
			seen[name] = p.name
		}
		text := readFile(t, file)
		for _, part := range []string{"\n## Settings\n", "\n## What breaks, and what does not\n", "\n## Run it\n", "\nlockbench run ", "\nlockbench conform "} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", file, strings.TrimSpace(part))
			}
		}
	}
	slices.Sort(want)
	if files, err := filepath.Glob("docs/libraries/*.md"); err != nil || !slices.Equal(files, want) {
		t.Errorf("the pages are %q, expected %q: %v", files, want, err)
	}
}

// TestLibraryParts: a page has the findings, the additions of adapters and the results of conformance of its own locks.
func TestLibraryParts(t *testing.T) {
	inTopFolder(t)
	p := libraryPage{name: "a", locks: []string{"redsync", "redislock"}, findings: []string{"no library"}}
	if rows, err := p.findingRows(); err == nil {
		t.Errorf("the findings about no library are %q", rows)
	}
	p.findings = []string{"redsync"}
	if rows, err := p.findingRows(); err != nil || !strings.Contains(rows, "](../findings/go-redis-retries.md)") || strings.Contains(rows, "kazoo") {
		t.Errorf("the findings about redsync are %q, %v", rows, err)
	}
	if got := p.adapter([]addition{{[]string{"red*"}, "both"}, {[]string{"redsync*"}, "one"}, {[]string{"kazoo"}, "none"}}); !strings.Contains(got, "\n- both\n- `redsync`: one\n") || strings.Contains(got, "none") {
		t.Errorf("the adapter adds %q", got)
	}
	got := p.doors([]door{
		{Lock: "redsync", Call: "a", Topology: "independent", Kept: 3}, {Lock: "redsync", Call: "b", Topology: "independent", Kept: 4},
		{Lock: "redsync", Call: "c", Topology: "independent", Kept: 5, Broken: "expiry"}, {Lock: "kazoo", Topology: "single", Kept: 6},
	})
	if !strings.Contains(got, "| `redsync` | independent | `a` 3, `b` 4 |  |  |  |\n| `redsync` | independent | `c` 5 | `expiry` |  |  |\n") || strings.Contains(got, "single") {
		t.Errorf("the results of conformance are %q", got)
	}
	if got := p.questions(nil, nil); !strings.Contains(got, "| question | `redsync` | `redislock` |\n") {
		t.Errorf("the questions are %q", got)
	}
}

// TestFilesAreSound: the lines of the files are possible.
func TestFilesAreSound(t *testing.T) {
	inTopFolder(t)
	doors, doorsErr := readTable[door](doorsFile)
	for _, d := range doors {
		l, known := catalog.Find(d.Lock)
		if !known || d.Call != "" && !slices.Contains(l.Calls(), d.Call) {
			t.Errorf("%s has a result of %s/call=%s, which there is not", doorsFile, d.Lock, d.Call)
		}
		if d.Kept == 0 {
			t.Errorf("%s: %s %s kept no rule", doorsFile, d.Lock, d.Call)
		}
	}
	happened, pointsErr := readTable[points](pointsFile)
	for _, p := range happened {
		if p.Episodes == 0 || p.Happened > p.Episodes {
			t.Errorf("%s has an impossible line: %+v", pointsFile, p)
		}
	}
	losses, powerErr := readTable[power](powerFile)
	for _, p := range losses {
		if _, known := services.Find(p.Service); !known || p.Episodes < p.Counted || p.Counted < p.Violated {
			t.Errorf("%s has an impossible line: %+v", powerFile, p)
		}
	}
	file, err := os.Open(setsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sets, setsErr := csv.NewReader(file).ReadAll()
	faults, faultsErr := readTable[struct{ Number, Fault string }](setFaultsFile)
	for _, row := range sets[1:] {
		for _, number := range strings.FieldsFunc(row[kindColumn], func(r rune) bool { return r == '+' }) {
			if n, err := strconv.Atoi(number); err != nil || n < 1 || n > len(faults) || faults[n-1].Number != number {
				t.Errorf("%s: fault %s is not in %s", setsFile, number, setFaultsFile)
			}
		}
	}
	if len(doors) == 0 || len(happened) == 0 || len(losses) == 0 || len(sets) < 2 || !slices.Equal(sets[0], setColumns) {
		t.Errorf("a file is empty, or has other columns: %v", errors.Join(doorsErr, pointsErr, powerErr, setsErr, faultsErr))
	}
}

// TestResultsAreSmall: what was measured stays within 400,000 bytes, so that a clone stays small.
func TestResultsAreSmall(t *testing.T) {
	inTopFolder(t)
	files, err := filepath.Glob("results/*.csv")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	sum := int64(0)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > 400_000 {
		t.Errorf("the results have %d bytes", sum)
	}
}

// TestCollect adds up three runs of one cell, and leaves out what does not count. A campaign counts one run of a seed.
func TestCollect(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"steady/1": `{"schema":1,"scenario":"steady","world":"sim","world_about":"redis-server 7.0.15","seed":1,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"valid","episodes":3,"outage_s":0.5},
			{"lock":"flock","verdict":"unknown","unsupported":"no files here"},
			{"lock":"redlock","verdict":"valid","error":"the server did not start","episodes":3}]}`,
		"steady/2": `{"schema":1,"scenario":"steady","world":"sim","world_about":"redis-server 7.0.15, postgres 15.18","seed":2,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"violated","class":"double-grant","episodes":3,"violating_episodes":2,"lost_updates":7,"topology":"single",
			"counterexample":{"title":"set-nx granted \"a\" twice","label":"episode 2","lines":[{"at_ns":1500000000,"who":"client 3","what":"acquires \"a\""}],"why":"It was granted twice."}},
			{"lock":"no-lock","verdict":"violated","episodes":3,"violating_episodes":3,"topology":"none","counterexample":{"title":"of a control"}}]}`,
		"steady/3": `{"schema":1,"scenario":"steady","world":"sim","seed":3,"program":"p","machine":"m","interrupted":true,"locks":[
			{"lock":"set-nx","verdict":"violated","class":"double-grant","episodes":1,"violating_episodes":1,"topology":"single","counterexample":{"title":"of an interrupted run"}}]}`,
		"matrix/nightly/sim/steady/1": `{"schema":1,"scenario":"steady","world":"sim","seed":4,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"valid","episodes":3},{"lock":"redlock","error":"the server did not start"}]}`,
		"matrix/nightly/sim/steady/2": `{"schema":1,"scenario":"steady","world":"sim","seed":4,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"valid","episodes":3}]}`,
	} {
		dir := filepath.Join(folder, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plan := `{"campaign":2,"worlds":[{"world":"sim","rows":[{"scenario":"steady","locks":["set-nx","redlock"],"episodes":3}]}]}`
	if err := os.WriteFile(filepath.Join(folder, "matrix", "nightly", campaign.File), []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, err := runsBelow(folder)
	if err != nil {
		t.Fatal(err)
	}
	cells, batches, stories, err := collect(runs, filepath.Base(folder), "v1")
	if err != nil {
		t.Fatal(err)
	}
	old := []cell{{World: "sim", Scenario: "steady", Lock: "set-nx", Verdict: "valid", Batch: "old"}}
	wantStory := story{World: "sim", Scenario: "steady", Lock: "set-nx", Seed: "2", Text: "set-nx granted \"a\" twice\tepisode 2\n1.500 s\tclient 3\tacquires \"a\"\nWhy\tIt was granted twice."}
	if len(stories) != 1 || stories[0] != wantStory {
		t.Errorf("the stories are %+v, expected %+v", stories, wantStory)
	}
	newCells := cells
	cells, batches = merge(old, cells, []batch{{Batch: "old"}}, batches)
	stories = mergeStories([]story{{World: "sim", Scenario: "steady", Lock: "set-nx", Text: "old"}, {World: "sim", Scenario: "gone", Lock: "set-nx"}}, stories, cells, newCells)
	if len(stories) != 1 || stories[0] != wantStory {
		t.Errorf("merged, the stories are %+v, expected %+v", stories, wantStory)
	}
	if len(batches) != 1 || batches[0].Seeds != "1..4" || batches[0].About != "redis-server 7.0.15, postgres 15.18" {
		t.Errorf("the batches are %+v, expected one with the seeds 1..4 and both servers", batches)
	}
	want := []cell{
		{World: "sim", Scenario: "steady", Lock: "flock", Verdict: noPart, Batch: batches[0].Batch},
		{World: "sim", Scenario: "steady", Lock: "no-lock", Verdict: "violated", Violating: measuredAs(3), Episodes: measuredAs(3), LostWrites: measuredAs(0), OutageS: measuredAs(0), Batch: batches[0].Batch},
		{World: "sim", Scenario: "steady", Lock: "set-nx", Verdict: "violated", Class: "double-grant", Violating: measuredAs(2), Episodes: measuredAs(9), LostWrites: measuredAs(7), OutageS: measuredAs(0.5), Batch: batches[0].Batch},
	}
	if len(cells) != len(want) {
		t.Fatalf("the cells are %+v, expected %+v", cells, want)
	}
	for i := range want {
		if cells[i] != want[i] {
			t.Errorf("cell %d is %+v, expected %+v", i, cells[i], want[i])
		}
	}
}

// TestCellsOfOtherCommitsLeave merges cells of three batches, two of which are of the same commit.
func TestCellsOfOtherCommitsLeave(t *testing.T) {
	of := func(name, commit string) ([]cell, []batch) {
		return []cell{{World: "sim", Scenario: name, Lock: "set-nx", Batch: name}}, []batch{{Batch: name, Program: "lockbench (v0.0.0-20261130000310-" + commit + ")"}}
	}
	cells, batches := of("before", "0123456789ab")
	for _, name := range []string{"steady", "failover"} {
		newCells, newBatches := of(name, "ba9876543210")
		cells, batches = merge(cells, newCells, batches, newBatches)
	}
	if len(cells) != 2 || cells[0].Batch != "failover" || cells[1].Batch != "steady" || len(batches) != 2 {
		t.Errorf("the cells are %+v, expected those of failover and steady", cells)
	}
}

// TestUnmeasured: a figure that was not measured is empty in the file and in sums, and a cell that ran has its number of episodes.
func TestUnmeasured(t *testing.T) {
	inTopFolder(t)
	if sum := measuredAs(3).plus(figure{}); sum.measured || sum.String() != "" {
		t.Errorf("3 and a figure that was not measured are %q", sum)
	}
	if got, err := parseFigure(""); err != nil || got.measured {
		t.Errorf("an empty field is %v, %v", got, err)
	}
	cells, err := readTable[cell](cellsFile)
	if err != nil {
		t.Fatal(err)
	}
	lost := map[string]int{} // by batch: the cells with lost writes
	for _, c := range cells {
		lost[c.Batch] += c.LostWrites.n()
		if ran := c.Verdict != noPart; ran != c.Episodes.measured || ran != c.Violating.measured || !ran && (c.LostWrites.measured || c.OutageS.measured) {
			t.Errorf("%v: %+v", c.place(), c)
		}
	}
	for _, c := range cells {
		if c.LostWrites.measured && lost[c.Batch] == 0 {
			t.Fatalf("no cell of batch %s lost a write, so it did not measure them: %v has %v", c.Batch, c.place(), c.LostWrites)
		}
	}
	for _, c := range cells {
		if mark := c.mark(); c.Verdict != noPart && !strings.HasSuffix(mark, "/"+c.Episodes.String()) && !strings.HasSuffix(mark, " of "+c.Episodes.String()) {
			t.Errorf("%v is shown as %q, without its %v episodes", c.place(), mark, c.Episodes)
		}
	}
}

// TestCollectTheWorst: a cell has the worst class of its runs, and a counterexample of that class.
func TestCollectTheWorst(t *testing.T) {
	folder := t.TempDir()
	for i, class := range []string{"overstay", "double-grant", "double-grant", "stale-write"} {
		dir := filepath.Join(folder, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"schema":1,"scenario":"steady","world":"sim","seed":%d,"locks":[{"lock":"set-nx","verdict":"violated","class":%q,
			"episodes":3,"violating_episodes":1,"topology":"single","counterexample":{"title":%[2]q}}]}`, i, class)
		if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := runsBelow(folder)
	if err != nil {
		t.Fatal(err)
	}
	cells, _, stories, err := collect(runs, "worst", "v1")
	if err != nil || len(cells) != 1 || cells[0].Class != "double-grant" || cells[0].Violating.n() != 4 || cells[0].Episodes.n() != 12 {
		t.Errorf("the cells are %+v, %v", cells, err)
	}
	if len(stories) != 1 || stories[0].Seed != "1" || stories[0].Text != "double-grant" {
		t.Errorf("the stories are %+v", stories)
	}
}

// TestStoriesFit: if there are too many stories, those of world sim are left out.
func TestStoriesFit(t *testing.T) {
	all := []story{{World: "local", Text: strings.Repeat("x", storiesMax-20)}, {World: "sim", Text: "y"}}
	if got := fitting(slices.Clone(all)); len(got) != 2 {
		t.Errorf("%d of 2 stories that fit are kept", len(got))
	}
	all[0].Text += strings.Repeat("x", 20)
	if got := fitting(all); len(got) != 1 || got[0].World != "local" {
		t.Errorf("%d stories are kept, expected that of world local", len(got))
	}
}

// TestStoriesAreSound: each story is of a violated cell and readable without the machine on which it was measured.
func TestStoriesAreSound(t *testing.T) {
	inTopFolder(t)
	cells, err := readTable[cell](cellsFile)
	if err != nil {
		t.Fatal(err)
	}
	stories, err := readTable[story](storiesFile)
	if err != nil {
		t.Fatal(err)
	}
	violated := map[place]bool{}
	for _, c := range cells {
		violated[c.place()] = c.Verdict == "violated"
	}
	path := regexp.MustCompile(`(^|\s)/\w+/`)
	for _, s := range stories {
		if !violated[s.place()] || !strings.HasPrefix(s.Text, strings.SplitN(s.Lock, "/", 2)[0]) || path.MatchString(s.Text) {
			t.Errorf("%v, seed %s: %s", s.place(), s.Seed, s.Text)
		}
		violated[s.place()] = false // one story only
	}
}

// TestCellsAreOfOneCommit: no cell is older than the others.
func TestCellsAreOfOneCommit(t *testing.T) {
	inTopFolder(t)
	cells, err := readTable[cell](cellsFile)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := readTable[batch](batchesFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := oneCommit(cells, batches); err != nil {
		t.Error(err)
	}
}

func TestOneCommit(t *testing.T) {
	program := func(commit string) string { return "lockbench 0.9.0 (v0.0.0-20261130000310-" + commit + "), go1.26.8" }
	of := func(name, commit, judge string) batch {
		return batch{Batch: name, Program: program(commit), Judge: "v0.0.0-20261130102030-" + judge}
	}
	local, sim := of("local", "3aa227569fb7", "0123456789ab"), of("sim", "3aa227569fb7", "0123456789ab")
	older, changed := of("sim", "a334cc9d0000", "0123456789ab"), of("sim", "3aa227569fb7+dirty", "0123456789ab")
	otherRules, changedRules := of("sim", "3aa227569fb7", "ba9876543210"), of("local", "3aa227569fb7", "0123456789ab+dirty")
	cells := []cell{{Lock: "set-nx", Batch: "local"}, {Lock: "redlock", Batch: "sim"}}
	for _, test := range []struct {
		name    string
		cells   []cell
		batches []batch
		want    string
	}{
		{"one commit", cells, []batch{local, sim}, ""},
		{"an older batch", cells, []batch{local, older}, "by commit a334cc9d0000"},
		{"a changed source", cells, []batch{local, changed}, "names no commit"},
		{"other rules", cells, []batch{local, otherRules}, "collect all of them with one docgen"},
		{"changed rules", cells[:1], []batch{changedRules}, "built in a clone without changes"},
		{"no such batch", cells, []batch{local}, `batch "sim", which`},
		{"no batch", cells[:1], nil, `batch "local", which`},
	} {
		err := oneCommit(test.cells, test.batches)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, expected %q", test.name, err, test.want)
		}
	}
}

func TestWithIssues(t *testing.T) {
	got := withIssues("Redisson #1, #2 (3.46); ShedLock #3; GH-4")
	want := "Redisson [#1](https://github.com/redisson/redisson/issues/1), [#2](https://github.com/redisson/redisson/issues/2) (3.46); " +
		"ShedLock [#3](https://github.com/lukas-krecan/ShedLock/issues/3); [GH-4](https://github.com/spring-projects/spring-integration/issues/4)"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
