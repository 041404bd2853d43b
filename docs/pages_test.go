// Package docs tests the pages of this folder.
package docs

import (
	"cmp"
	"encoding/csv"
	"encoding/xml"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockbench/internal/questions"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/stats"
	"lockbench/locks/catalog"
	"lockbench/locks/locktest"
	"lockbench/scenarios"
)

var update = flag.Bool("update", false, "write the generated blocks into the pages")

// block is a part of a page that is made from code.
type block struct {
	page, name string
	text       func(t *testing.T) string
}

// blocks are the parts of pages that are made from code. A block NAME stands between <!-- NAME --> and <!-- /NAME -->.
var blocks = []block{
	{"reference/scenarios.md", "scenarios", scenarioRows},
	{"reference/formats.md", "history", historyFields},
	{"reference/formats.md", "result", resultFields},
	{"conformance.md", "rules", ruleRows},
	{"guest-protocol.md", "endpoints", endpointRows},
	{"services.md", "services", serviceRows},
	{"bugs.md", "ids", bugRows},
	{"../README.md", "few", fewSmallestRows},
	{"smallest-sets.md", "smallest", smallestRows},
	{"smallest-sets.md", "redlock", redlockRows},
	{"smallest-sets.md", "jar", jarRows},
	{"smallest-sets.md", "shown", mutantSetRows},
	{"smallest-sets.md", "growth", growthRows},
	{"smallest-sets.md", "seeds", seedRows},
	{"findings/README.md", "programs", programRows},
	{"findings/redisson-4.7.0.md", "questions", redissonRows},
	{"findings/redisson-4.7.0.md", "options", redissonOptionRows},
}

// upstreamBlocks puts the programs of findings/repro into the reports that can be sent to the projects.
func upstreamBlocks(t *testing.T) []block {
	t.Helper()
	reports, err := filepath.Glob("findings/repro/*/upstream.md")
	if err != nil || len(reports) == 0 {
		t.Fatalf("found %q, %v", reports, err)
	}
	var all []block
	for _, report := range reports {
		all = append(all, block{report, "program", func(t *testing.T) string {
			t.Helper()
			sources, err := filepath.Glob(filepath.Join(filepath.Dir(report), "[Mm]ain.*"))
			if err != nil || len(sources) != 1 {
				t.Fatalf("found %q, %v", sources, err)
			}
			text, err := os.ReadFile(sources[0])
			if err != nil {
				t.Fatal(err)
			}
			language := strings.TrimPrefix(filepath.Ext(sources[0]), ".")
			return "```" + language + "\n" + strings.TrimSpace(string(text)) + "\n```\n"
		}})
	}
	return all
}

// TestGeneratedBlocks compares the blocks with the code. With -update it writes them.
func TestGeneratedBlocks(t *testing.T) {
	for _, b := range append(upstreamBlocks(t), blocks...) {
		t.Run(b.page+"/"+b.name, func(t *testing.T) {
			text, err := os.ReadFile(b.page)
			if err != nil {
				t.Fatal(err)
			}
			begin, end := "<!-- "+b.name+" -->\n", "<!-- /"+b.name+" -->"
			before, rest, found := strings.Cut(string(text), begin)
			old, after, ended := strings.Cut(rest, end)
			if !found || !ended {
				t.Fatalf("%s has no block %s", b.page, b.name)
			}
			block := b.text(t)
			switch {
			case block == old:
			case !*update:
				t.Errorf("block %s of docs/%s differs from the code; go test ./docs -update writes it", b.name, b.page)
			default:
				if err := os.WriteFile(b.page, []byte(before+begin+block+end+after), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// table writes a table in Markdown.
func table(head []string, rows [][]string) string {
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
	var b strings.Builder
	b.WriteString(line(head))
	b.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	for _, r := range rows {
		b.WriteString(line(r))
	}
	return b.String()
}

// scenarioRows has a row for each scenario, with the faults of an episode and the description from its file.
func scenarioRows(t *testing.T) string {
	var rows [][]string
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name)
		if err != nil {
			t.Fatal(err)
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
	return table([]string{"scenario", "faults", "what it shows", "[bugs](../bugs.md)"}, rows)
}

// ruleRows has a row for each rule of the conformance suite.
func ruleRows(*testing.T) string {
	var rows [][]string
	for _, r := range locktest.Rules() {
		rows = append(rows, []string{"`" + r.Name + "`", r.About})
	}
	return table([]string{"rule", "promise"}, rows)
}

// serviceRows has a row for each service.
func serviceRows(*testing.T) string {
	var rows [][]string
	for _, s := range services.All() {
		var topologies []string
		for _, topology := range s.Topologies {
			topologies = append(topologies, "`"+string(topology.Name)+"`")
		}
		needs := s.Needs
		rows = append(rows, []string{"`" + s.Name + "`", "`" + needs.Command() + "`", needs.Least, strings.Join(topologies, ", "), needs.Install})
	}
	return table([]string{"service", "program", "from version", "topologies", "to install it"}, rows)
}

// bugRows has a row for each bug that a scenario or a mutant shows.
func bugRows(t *testing.T) string {
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
			t.Fatal(err)
		}
		for _, id := range s.Shows {
			add(id, 0, "`"+name+"`")
		}
	}
	for _, m := range catalog.Mutants() {
		add(m.Wrong.Bug, 1, "`"+m.Name+"`")
		add(m.Wrong.Bug, 2, m.Wrong.Known)
	}
	var rows [][]string
	for _, id := range slices.SortedFunc(maps.Keys(shown), func(a, b string) int { return cmp.Or(cmp.Compare(a[0], b[0]), bugNumber(t, a)-bugNumber(t, b)) }) {
		of := shown[id]
		rows = append(rows, []string{id, strings.Join(of[0], ", "), strings.Join(of[1], ", "), withIssues(strings.Join(of[2], "; "))})
	}
	return table([]string{"id", "scenarios", "mutants", "known from"}, rows)
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

func TestWithIssues(t *testing.T) {
	got := withIssues("Redisson #1, #2 (3.46); ShedLock #3; GH-4")
	want := "Redisson [#1](https://github.com/redisson/redisson/issues/1), [#2](https://github.com/redisson/redisson/issues/2) (3.46); " +
		"ShedLock [#3](https://github.com/lukas-krecan/ShedLock/issues/3); [GH-4](https://github.com/spring-projects/spring-integration/issues/4)"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// bugNumber is 17 for R-17.
func bugNumber(t *testing.T, id string) int {
	_, number, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("%q is not the id of a bug", id)
	}
	return n
}

// endpointRows has a row for each topology of each service, with the endpoints and parameters that a guest gets.
func endpointRows(*testing.T) string {
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
	return table([]string{"`service`", "`topology`", "`endpoints`", "`params`"}, rows)
}

func historyFields(t *testing.T) string {
	const dir = "../internal/history"
	return fieldTables(t, []section{
		{"The header, which is the first line", dir, "Header"},
		{"`bounds` of the header", dir, "Bounds"},
		{"A step of `plan`", dir, "PlanStep"},
		{"`claims`", "../locks", "Claims"},
		{"An event, which is every other line", dir, "wireLine"},
		{"`facts` of an event of process `probe`", dir, "Facts"},
	})
}

func resultFields(t *testing.T) string {
	const report, stats, checks = "../internal/report", "../internal/stats", "../checker"
	return fieldTables(t, []section{
		{"The run", report, "Result"},
		{"An element of `locks`", report, "Lock"},
		{"`acquires`", stats, "Acquires"},
		{"`rate`", stats, "Rate"},
		{"`unordered`", stats, "Unordered"},
		{"A value of `latency_ms` and `acquire_ms`, and `overlap_ms`", stats, "Latency"},
		{"An element of `faults`", report, "FaultTimes"},
		{"An element of `checks`", checks, "Result"},
		{"An element of `findings`", checks, "Finding"},
		{"`counterexample`", report, "Counterexample"},
		{"An element of its `lines`", report, "Line"},
		{"Its `scene`", report, "Scene"},
	})
}

// section is a struct that is a JSON object of a file.
type section struct{ title, dir, name string }

// fieldTables has a table for each struct: its fields in JSON, with the comments of the source.
func fieldTables(t *testing.T, sections []section) string {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n")
		}
		rows := fieldsOf(t, s.dir, s.name)
		if len(rows) == 0 {
			t.Errorf("%s.%s has no fields in JSON", s.dir, s.name)
		}
		fmt.Fprintf(&b, "**%s**\n\n%s", s.title, table([]string{"field", "type", "meaning"}, rows))
	}
	return b.String()
}

var (
	jsonTag = regexp.MustCompile(`json:"([^",]+)`)
	verb    = regexp.MustCompile(`^(is|are|has|means that|counts) `)
)

// fieldsOf reads the fields of a struct from the source. Embedded structs are parts of it.
func fieldsOf(t *testing.T, dir, name string) [][]string {
	var rows [][]string
	for _, f := range structOf(t, dir, name).Fields.List {
		if len(f.Names) == 0 {
			embedded := f.Type
			if star, ok := embedded.(*ast.StarExpr); ok {
				embedded = star.X
			}
			switch e := embedded.(type) {
			case *ast.Ident:
				rows = append(rows, fieldsOf(t, dir, e.Name)...)
			case *ast.SelectorExpr:
				rows = append(rows, fieldsOf(t, filepath.Join("../internal", e.X.(*ast.Ident).Name), e.Sel.Name)...)
			}
			continue
		}
		if f.Tag == nil {
			continue
		}
		tag := jsonTag.FindStringSubmatch(f.Tag.Value)
		if tag == nil || tag[1] == "-" {
			continue
		}
		meaning := oneLine(f.Comment.Text())
		if meaning == "" {
			meaning = oneLine(f.Doc.Text())
		}
		if meaning == "" {
			t.Errorf("field %s of %s.%s has no comment", tag[1], dir, name)
		}
		if of, ok := strings.CutPrefix(meaning, f.Names[0].Name+" "); ok {
			meaning = verb.ReplaceAllString(of, "")
		}
		meaning = strings.TrimSuffix(meaning, ".")
		rows = append(rows, []string{"`" + tag[1] + "`", typeOf(f.Type), strings.ReplaceAll(meaning, "|", "\\|")})
	}
	return rows
}

// structOf finds the declaration of a struct.
func structOf(t *testing.T, dir, name string) *ast.StructType {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if declared, ok := spec.(*ast.TypeSpec); ok && declared.Name.Name == name {
					if s, ok := declared.Type.(*ast.StructType); ok {
						return s
					}
				}
			}
		}
	}
	t.Fatalf("%s has no struct %s", dir, name)
	return nil
}

// typeOf names the JSON type of a field.
func typeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeOf(e.X)
	case *ast.ArrayType:
		return "list"
	case *ast.MapType:
		return "object"
	case *ast.SelectorExpr:
		return namedType(e.Sel.Name)
	case *ast.Ident:
		return namedType(e.Name)
	}
	return ""
}

func namedType(name string) string {
	switch name {
	case "string", "Quiet", "Topology", "Verdict", "Class", "Mode", "Type":
		return "text"
	case "int", "int32", "int64", "uint64", "float64":
		return "number"
	case "bool":
		return "true, false"
	case "Duration":
		return "nanoseconds"
	case "Time":
		return "time"
	case "Model":
		return "text or list"
	case "Process", "value":
		return "number or text"
	}
	return "object"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// tables limits the bytes of all generated blocks. A page is as long as its subject needs, and tables grow by
// themselves.
const tables = 320 << 10

// programRows lists the programs of findings/repro with their recorded results.
func programRows(t *testing.T) string {
	t.Helper()
	file, err := os.Open("findings/repro/results.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	results, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, r := range results[1:] {
		program, err := os.ReadFile("findings/repro/" + r[0] + "/run.sh")
		if err != nil {
			t.Fatal(err)
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
	return table([]string{"program", "shows", "version", "tried", "defect", "report"}, rows)
}

// TestCampaignsOfQuestions checks that the campaign for locks of users has the scenario of each question, and only scenarios
// that exist, and that the campaign of the questions has no others.
func TestCampaignsOfQuestions(t *testing.T) {
	recommended, asked := scenariosOf(t, "recommended"), scenariosOf(t, "questions")
	for _, name := range recommended {
		if !slices.Contains(scenarios.Names(), name) {
			t.Errorf("campaigns/recommended.yaml names the scenario %s, which does not exist", name)
		}
	}
	var want []string
	for _, q := range questions.All() {
		want = append(want, q.Scenario)
		if !slices.Contains(recommended, q.Scenario) {
			t.Errorf("campaigns/recommended.yaml lacks %s: %s", q.Scenario, q.Text)
		}
	}
	if !slices.Equal(asked, want) {
		t.Errorf("campaigns/questions.yaml has the scenarios %q, expected %q", asked, want)
	}
}

// scenariosOf reads the scenarios of a campaign.
func scenariosOf(t *testing.T, campaign string) []string {
	t.Helper()
	text, err := os.ReadFile("../campaigns/" + campaign + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Scenarios []string }
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c.Scenarios
}

// measured is a row of findings/redisson-4.7.0.csv, which has the runs of the locks of Redisson's jar. The file stands for
// itself, because the page describes one version at one commit.
type measured struct {
	scenario, lock, options, verdict, class, violating, counted, lost, outage string
}

func redissonRuns(t *testing.T) []measured {
	t.Helper()
	file, err := os.Open("findings/redisson-4.7.0.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var runs []measured
	for _, r := range rows[1:] {
		runs = append(runs, measured{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]})
	}
	return runs
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
func redissonRows(t *testing.T) string {
	t.Helper()
	head := []string{"question", "scenario"}
	found := map[[2]string]string{}
	columns := []string{"RLock", "Fair", "ReadWrite", "Multi", "Fenced", "Spin", "RedLock", "RLock version=3.15.6", "RLock version=3.13.6"}
	for _, c := range columns {
		head = append(head, strings.Replace(c, "version=", "of ", 1))
	}
	for _, m := range redissonRuns(t) {
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
	return table(head, rows)
}

// redissonOptionRows has the runs with other options than those of redissonRows, and next to each what the defaults do.
func redissonOptionRows(t *testing.T) string {
	t.Helper()
	runs := redissonRuns(t)
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
	return table([]string{"scenario", "option", "result", "longest outage, s", "defaults", "longest outage, s"}, rows)
}

// publicReport finds the line of a program that names the public report of its defect.
var publicReport = regexp.MustCompile(`(?m)^upstream=(https://github\.com/[^/]+/([^/]+)/(?:issues|pull)/(\d+))$`)

// TestTablesAreShort counts the bytes of generated blocks in README.md, docs and examples.
func TestTablesAreShort(t *testing.T) {
	generated := regexp.MustCompile(`(?s)<!-- (?:` + strings.Join(generatedBlocks(), "|") + `) -->.*?<!-- /\w+ -->`)
	total := 0
	for _, text := range allPages(t) {
		for _, block := range generated.FindAllString(text, -1) {
			total += len(block)
		}
	}
	t.Logf("%d bytes", total)
	if total > tables {
		t.Errorf("the generated blocks have %d bytes, and %d at most", total, tables)
	}
}

// TestMeasuredFiguresStandInBlocks finds rates, sizes, durations and loads in the prose of all pages. Measured figures
// belong into generated blocks, which name their source, or into a dated report. Figures in code, such as `20 s`, are
// settings.
func TestMeasuredFiguresStandInBlocks(t *testing.T) {
	for path, text := range allPages(t) {
		if strings.Contains(path, "findings/") && !strings.HasSuffix(path, "README.md") {
			continue // see TestFindingsAreDated
		}
		text = strings.Replace(text, exactBounds(), "", 1)
		for _, found := range measuredFigures(text) {
			t.Errorf("%s has the figure %q outside of a generated block", path, found)
		}
	}
}

var (
	// notProse are the generated blocks, the sample of a run, and code.
	notProse = regexp.MustCompile("(?s)<!-- (" + strings.Join(append(generatedBlocks(), "sample"), "|") + ") -->.*?<!-- /\\w+ -->|```.*?```|``.*?``|`[^`]*`|\\]\\([^)]*\\)")
	figure   = regexp.MustCompile(`(?i)\b\d[\d.,]* ?(%|(kB|MB|GB|KiB|MiB|GiB|bytes|ms|µs|us|ns|s|seconds?|minutes?|min|hours?|h|days?|times|fold|x)\b)` +
		`|\b\d[\d,]* (of|in|out of) \d[\d,]*\b|\b\d+/\d{1,2}\b|\b\d[\d,]* (runs|episodes|tries|seeds|histories|grants|writes|violations)\b` +
		`|\b(half a|a few|several|some|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|fifty|hundred|thousand) ` +
		`(percent|megabytes|gigabytes|milliseconds|minutes|hours|times (as|faster|slower|longer|more|less))\b|\bload of \d|\b(on|under) a busy machine of`)
	// terms look like figures: the address range of world local, the confidence of all bounds.
	terms = regexp.MustCompile(`^(127/8|95 %)$`)
)

// measuredFigures returns the figures in the prose of a page.
func measuredFigures(text string) []string {
	return slices.DeleteFunc(figure.FindAllString(notProse.ReplaceAllString(text, " "), -1), terms.MatchString)
}

// exactBounds is a sentence of the README. It is computed and not measured.
func exactBounds() string {
	_, three := stats.Bounds(0, 3)
	_, thirty := stats.Bounds(0, 30)
	return fmt.Sprintf("After 0 of 3 violated episodes, a lock that fails in %.0f %% of all episodes is still possible\n  (exact 95 %% bound); after 0 of 30, in %.0f %%.",
		100*three, 100*thirty)
}

func TestMeasuredFigures(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"The lock broke in 12 % of the runs.", []string{"12 %"}},
		{"It was violated 3 of 10 times, in 3/10 episodes.", []string{"3 of 10", "3/10"}},
		{"Judging takes 2.5 s and 300 MB, ten times as long as before.", []string{"2.5 s", "300 MB", "ten times as"}},
		{"It needs 1,000 runs at a load of 12.", []string{"1,000 runs", "load of 1"}},
		{"A lag of `20 s` is a cut.\n<!-- measured -->\n| 3/3 |\n<!-- /measured -->\n```\nP99 42 ms\n```\n", nil},
		{"Bounds have 95 % confidence, and addresses are in 127/8.", nil},
	} {
		if got := measuredFigures(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

// TestFindingsAreDated checks that each report of a finding has the date, the commit and the seeds of its figures.
func TestFindingsAreDated(t *testing.T) {
	recorded := regexp.MustCompile(`(?m)^\| Recorded \| 20\d\d-\d\d-\d\d, commit [0-9a-f]{8}, (seeds? (from )?\d|no seed)`)
	reports, err := filepath.Glob("findings/*.md")
	if err != nil || len(reports) < 10 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, path := range reports {
		if filepath.Base(path) == "README.md" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !recorded.Match(text) || !strings.Contains(string(text), "\n| Tested |") {
			t.Errorf("docs/%s does not say when, with which commit and with which seeds its figures were recorded", path)
		}
	}
}

// parts are the headings of each report of a finding, in their order.
var parts = []string{"Claim", "Seen", "Program", "Why", "Versions", "Upstream", "Settings"}

// otherForms are the pages of docs/findings that are not a report of one defect.
var otherForms = []string{"README.md", "documented.md", "public.md", "redisson-4.7.0.md"}

// TestFindingsHaveOneForm checks the form of each report, and that all pages of findings link each issue that they name.
func TestFindingsHaveOneForm(t *testing.T) {
	pages, err := filepath.Glob("findings/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		problems := unlinkedIssues(string(text))
		if !slices.Contains(otherForms, filepath.Base(path)) {
			problems = append(problems, formProblems(string(text))...)
		}
		for _, p := range problems {
			t.Errorf("docs/%s: %s", path, p)
		}
	}
}

// TestScenariosOfFindings reads the scenarios that belong to a report.
func TestScenariosOfFindings(t *testing.T) {
	files, err := filepath.Glob("findings/repro/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %q, %v", files, err)
	}
	for _, file := range files {
		if _, err := scenarios.ReadFile(file); err != nil {
			t.Error(err)
		}
	}
}

// formProblems returns what a report of a finding lacks.
func formProblems(text string) (problems []string) {
	sections := strings.Split(text, "\n## ")
	var found []string
	for _, section := range sections[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		found = append(found, heading)
		if evidence := evidenceOf[heading]; evidence != nil && !evidence.MatchString(body) {
			problems = append(problems, fmt.Sprintf("%q lacks its evidence: %v", heading, evidence))
		}
		if nothingFound.MatchString(body) && !queries.MatchString(body) {
			problems = append(problems, fmt.Sprintf("%q says that no report was found, and quotes no query: %v", heading, queries))
		}
		if strings.TrimSpace(body) == "" {
			problems = append(problems, fmt.Sprintf("%q is empty", heading))
		}
	}
	if !slices.Equal(found, parts) {
		problems = append(problems, fmt.Sprintf("the headings are %q, not %q", found, parts))
	}
	return problems
}

// evidenceOf is the evidence that a part of a report has: a claim has a quotation, a program is a link or a command, a search
// has its date and a link to a report.
var evidenceOf = map[string]*regexp.Regexp{
	"Claim":    regexp.MustCompile("\"|`"),
	"Program":  regexp.MustCompile(`\]\(repro/|lockbench run `),
	"Upstream": regexp.MustCompile(`(?s)^\nSearched on 20\d\d-\d\d-\d\d( [^:]*)?: .*(\]\(https://github\.com/|\]\(repro/[\w-]+/upstream\.md\)|no report)`),
}

var (
	// nothingFound says that a search found no report.
	nothingFound = regexp.MustCompile(`(?i)\bno\s+(\w+\s+)?report\s+(of|was|found)\b|\bnone\s+found\b`)
	// queries names the repositories of a search and quotes its words, so that a reader can repeat it.
	queries = regexp.MustCompile(`Searched on 20\d\d-\d\d-\d\d in [\w.-]+/[\w.-]+( and [\w.-]+/[\w.-]+)*\s+for "[^"]+"`)
)

var (
	links     = regexp.MustCompile("\\[(?:[^\\]`]|`[^`]*`)*\\]\\([^)]*\\)|```(?s:.*?)```")
	issueName = regexp.MustCompile(`[\w-]*#\d{2,}\b`)
)

// unlinkedIssues finds numbers of issues that are not links.
func unlinkedIssues(text string) (problems []string) {
	for _, issue := range issueName.FindAllString(links.ReplaceAllString(text, " "), -1) {
		problems = append(problems, issue+" is not a link")
	}
	return problems
}

func TestFindingForms(t *testing.T) {
	whole := "# A\n\n## Claim\n\n\"safe\"\n\n## Seen\n\nx\n\n## Program\n\n[a](repro/a/main.go)\n\n## Why\n\nx\n\n## Versions\n\n1\n\n" +
		"## Upstream\n\nSearched on 2026-11-29: [a#12](https://github.com/a/a/issues/12).\n\n## Settings\n\nx\n"
	for _, test := range []struct {
		name, text string
		want       int
	}{
		{"whole", whole, 0},
		{"no quotation", strings.Replace(whole, "\"safe\"", "safe", 1), 1},
		{"no program", strings.Replace(whole, "repro/", "", 1), 1},
		{"no date", strings.Replace(whole, "Searched on", "Searched", 1), 1},
		{"nothing found, no query", strings.Replace(whole, ": [a#12](https://github.com/a/a/issues/12)", ": no report of it", 1), 1},
		{"nothing later found, no query", strings.Replace(whole, "issues/12).", "issues/12). No later report\nwas found.", 1), 1},
		{"nothing found, no repository", strings.Replace(whole, ": [a#12](https://github.com/a/a/issues/12)", " for \"key stays\": no report of it", 1), 1},
		{"nothing found", strings.Replace(whole, ": [a#12](https://github.com/a/a/issues/12)", " in a/a and b/b for \"key stays\", \"lost\": no report of it", 1), 0},
		{"another order", strings.Replace(strings.Replace(whole, "## Why", "## Reason", 1), "## Seen", "## Why", 1), 1},
		{"no issue is linked", strings.Replace(whole, "[a#12](https://github.com/a/a/issues/12)", "a#12", 1), 2},
		{"empty", strings.Replace(whole, "## Seen\n\nx\n", "## Seen\n", 1), 1},
	} {
		if got := append(formProblems(test.text), unlinkedIssues(test.text)...); len(got) != test.want {
			t.Errorf("%s: found %q, want %d", test.name, got, test.want)
		}
	}
}

// TestPictures checks that each drawing of docs/images is small, readable in a light and in a dark theme, and shown with a
// text for readers who do not see it. A picture of measurements has many cells.
func TestPictures(t *testing.T) {
	const drawn, measured = 6 << 10, 15 << 10
	drawings, err := filepath.Glob("images/*.svg")
	if err != nil || len(drawings) == 0 {
		t.Fatalf("found %q, %v", drawings, err)
	}
	pages := slices.Collect(maps.Values(allPages(t)))
	for _, path := range drawings {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(text, new(struct {
			XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		})); err != nil {
			t.Errorf("docs/%s: %v", path, err)
		}
		most := drawn
		if strings.HasPrefix(filepath.Base(path), "questions-") {
			most = measured
		}
		if len(text) > most {
			t.Errorf("docs/%s has %d bytes, and %d at most", path, len(text), most)
		}
		if color := unreadable.Find(text); color != nil {
			t.Errorf("docs/%s has the color %s, which cannot be read on a background like it", path, color)
		}
		shown := regexp.MustCompile(`!\[[^\]]{20,}\]\([./\w]*` + regexp.QuoteMeta(path) + `\)`)
		if !slices.ContainsFunc(pages, shown.MatchString) {
			t.Errorf("no page shows docs/%s with a text that describes it", path)
		}
	}
}

// unreadable are colors that vanish in one of the themes.
var unreadable = regexp.MustCompile(`(?i)\b(black|white)\b|#(000|fff)(000|fff)?\b`)

// allPages returns the text of all pages by their paths.
func allPages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	add := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	}
	for _, root := range []string{"../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md", ".", "../examples", "../deploy"} {
		if err := filepath.WalkDir(root, add); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// generatedBlocks are the names of the blocks that tests compare, here and in other packages.
func generatedBlocks() []string {
	names := []string{"measured", "libraries", "adds", "library", "locks", "keys", "checks", "commands", "program"}
	for _, b := range blocks {
		names = append(names, b.name)
	}
	return names
}
