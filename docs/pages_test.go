// Package docs tests the pages of this folder.
package docs

import (
	"encoding/xml"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockbench/internal/questions"
	"lockbench/internal/stats"
	"lockbench/scenarios"
)

// tables limits the bytes of all generated blocks. A page is as long as its subject needs, and tables grow by
// themselves.
const tables = 320 << 10

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

// TestTablesAreShort counts the bytes of generated blocks in README.md, docs and examples.
func TestTablesAreShort(t *testing.T) {
	generated := regexp.MustCompile(`(?s)<!-- \w+ -->.*?<!-- /\w+ -->`)
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
	notProse = regexp.MustCompile("(?s)<!-- \\w+ -->.*?<!-- /\\w+ -->|```.*?```|``.*?``|`[^`]*`|\\]\\([^)]*\\)")
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
