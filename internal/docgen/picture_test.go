package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockbench/internal/questions"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// everyLock has a cell of each lock in each question, with options where pictures must show them.
func everyLock() (cells []cell) {
	names := []string{"rueidislock/validity=2s", "redisson/version=3.15.6", "redisson/watchdog=2s", "etcd-mutex/orphan=on"}
	names = append(names, catalog.Names()...)
	kinds := []cell{
		{Verdict: "valid", Violating: measuredAs(0), Episodes: measuredAs(10), OutageS: measuredAs(2.04)},
		{Verdict: "violated", Class: "double-grant", Violating: measuredAs(10), Episodes: measuredAs(10)},
		{Verdict: "violated", Class: "stale-write", Violating: measuredAs(3), Episodes: measuredAs(10)},
		{Verdict: "violated", Class: "overstay", Violating: measuredAs(3), Episodes: measuredAs(3)},
		{Verdict: "violated", Class: "unavailable", Violating: measuredAs(1), Episodes: measuredAs(2)},
		{Verdict: "unknown", Violating: measuredAs(0), Episodes: measuredAs(10)},
		{Verdict: "unknown", Violating: measuredAs(0), Episodes: measuredAs(0)},
		{Verdict: noPart},
	}
	for i, name := range names {
		for n, q := range questions.All() {
			c := kinds[(i+n)%len(kinds)]
			c.World, c.Scenario, c.Lock, c.Batch = measuredIn, q.Scenario, name, "all"
			cells = append(cells, c)
		}
	}
	return cells
}

var measuredAll = []batch{{Batch: "all", Program: "lockbench 0.9.0 (v0.0.0-20261130000310-3aa227569fb7)", Machine: "linux", World: measuredIn, Begun: "2026-11-30"}}

// TestQuestions: a scenario answers each question.
func TestQuestions(t *testing.T) {
	all := questions.All()
	for _, q := range all {
		if !slices.Contains(scenarios.Names(), q.Scenario) || q.Text == "" {
			t.Errorf("%+v", q)
		}
	}
	if len(all) != 10 {
		t.Errorf("there are %d questions", len(all))
	}
}

// TestFamilies: each lock on servers belongs to one family, which is also that of its Go port.
func TestFamilies(t *testing.T) {
	familyOf := func(l catalog.Lock) (names []string) {
		for _, f := range families() {
			if f.takes(l) {
				names = append(names, f.name)
			}
		}
		return names
	}
	for _, l := range catalog.All() {
		want := 1
		if l.Control() {
			want = 0
		}
		names := familyOf(l)
		if len(names) != want {
			t.Errorf("%s belongs to the families %q", l.Name, names)
		}
		if port, ok := catalog.Find(l.Port); ok && !slices.Equal(familyOf(port), names) {
			t.Errorf("%s belongs to the families %q, and its port %s to %q", l.Name, names, port.Name, familyOf(port))
		}
	}
	for name, want := range map[string]string{
		"set-nx": "redis", "redisson-fair": "redisson", "redisson-port-wait": "redisson", "redlock": "majority", "redisson-redlock": "majority",
		"kube-lease": "quorum", "zk-recipe": "quorum", "nats-kv": "quorum", "pg-row": "database", "mongo-find-and-modify": "database",
	} {
		if l, ok := catalog.Find(name); !ok || !slices.Equal(familyOf(l), []string{want}) {
			t.Errorf("%s belongs to the families %q, expected %s", name, familyOf(l), want)
		}
	}
}

// TestColumns: the pictures have each lock that was measured, those with options only if most of the questions were, and the page
// names the libraries that were not.
func TestColumns(t *testing.T) {
	columns := func(cells []cell) (all, missing []string) {
		for _, f := range families() {
			shown, not := f.columns(cells)
			all, missing = append(all, shown...), append(missing, not...)
		}
		return all, missing
	}
	some := []cell{
		{World: measuredIn, Scenario: "steady", Lock: "set-nx", Verdict: "valid", Episodes: measuredAs(3)},
		{World: measuredIn, Scenario: "steady", Lock: "no-lock", Verdict: "violated", Episodes: measuredAs(3)},
		{World: measuredIn, Scenario: "clock-jump", Lock: "redlock", Verdict: "valid", Episodes: measuredAs(3)},
		{World: measuredIn, Scenario: "steady", Lock: "redislock", Verdict: noPart},
		{World: "sim", Scenario: "steady", Lock: "get-del", Verdict: "valid", Episodes: measuredAs(3)},
	}
	for i, q := range questions.All() {
		some = append(some, cell{World: measuredIn, Scenario: q.Scenario, Lock: "rueidislock/validity=2s", Verdict: "valid", Episodes: measuredAs(3)})
		if i < 5 {
			some = append(some, cell{World: measuredIn, Scenario: q.Scenario, Lock: "valkeylock/validity=2s", Verdict: "valid", Episodes: measuredAs(3)})
		}
	}
	got, missing := columns(some)
	if want := []string{"set-nx", "rueidislock/validity=2s"}; !slices.Equal(got, want) {
		t.Errorf("the columns are %q, expected %q", got, want)
	}
	for lock, want := range map[string]bool{"rueidislock": false, "redislock": true, "redisson": true, "set-nx": false, "redlock": false, "redisson-port": false} {
		if slices.Contains(missing, lock) != want {
			t.Errorf("not measured are %q: %s is in them: %v", missing, lock, !want)
		}
	}
	full, missing := columns(everyLock())
	want := 4 // with options
	for _, l := range catalog.All() {
		if !l.Control() {
			want++
		}
	}
	if distinct := len(slices.Compact(slices.Sorted(slices.Values(full)))); len(full) != want || distinct != want || missing != nil {
		t.Errorf("%d columns for %d of %d locks: %q, and without %q", len(full), distinct, want, full, missing)
	}
	if i := slices.Index(full, "redisson-fair"); full[i+1] != "redisson-port-fair" {
		t.Errorf("%s stands next to redisson-fair", full[i+1])
	}
}

// TestPicturesOfAll draws every lock in every question: the pictures are well-formed, small, and the same each time. Each
// picture has the cells of its table.
func TestPicturesOfAll(t *testing.T) {
	labels := 0
	for _, p := range allParts(everyLock(), measuredAll) {
		drawn := p.svg()
		if !bytes.Equal(drawn, p.svg()) {
			t.Errorf("%s differs when it is drawn again", p.file())
		}
		var svg struct {
			XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
			Role    string   `xml:"role,attr"`
			Title   string   `xml:"title"`
			Desc    string   `xml:"desc"`
			Texts   []struct {
				Text  string   `xml:",chardata"`
				Spans []string `xml:"tspan"`
			} `xml:"text"`
			Paths []struct {
				Class string `xml:"class,attr"`
				D     string `xml:"d,attr"`
			} `xml:"path"`
		}
		if err := xml.Unmarshal(drawn, &svg); err != nil {
			t.Fatalf("%s: %v", p.file(), err)
		}
		if svg.Role != "img" || svg.Title == "" || svg.Desc != p.summary() {
			t.Errorf("%s: role %q, title %q, description %q", p.file(), svg.Role, svg.Title, svg.Desc)
		}
		if len(drawn) > 15<<10 || len(p.locks) > 16 {
			t.Errorf("%s has %d bytes for %d locks", p.file(), len(drawn), len(p.locks))
		}
		want, areas := map[string]int{}, map[string]int{}
		for _, q := range questions.All() {
			for _, lock := range p.locks {
				want[p.cell(q, lock).outcome().class]++
			}
		}
		for _, o := range outcomes {
			want[o.class]++ // in the legend
		}
		delete(want, noResult.class)
		for _, path := range svg.Paths {
			areas[path.Class] += strings.Count(path.D, "M")
		}
		if fmt.Sprint(areas) != fmt.Sprint(want) {
			t.Errorf("%s has the areas %v, expected %v", p.file(), areas, want)
		}
		for _, text := range svg.Texts {
			labels += len(text.Spans)
		}
		if text := string(drawn); !strings.Contains(text, ">D 10/10<") || !strings.Contains(text, ">X 1/2<") || !strings.Contains(text, "commit 3aa227569fb7, 2026-11-30") {
			t.Errorf("%s lacks a result or its commit", p.file())
		}
		for _, line := range strings.Split(p.tables(), "\n") {
			if strings.Count(line, "|") > 11 {
				t.Errorf("a table has more than ten columns: %s", line)
			}
		}
	}
	if want := len(everyLock()) - 3*len(questions.All()); labels != want {
		t.Errorf("the pictures have %d labels, expected %d", labels, want)
	}
}

// TestPictureOfLittle: cells that were not measured are hatched, and have no label. Without any cell there is no picture.
func TestPictureOfLittle(t *testing.T) {
	one := []cell{{World: measuredIn, Scenario: "steady", Lock: "redlock", Verdict: "valid", Violating: measuredAs(0), Episodes: measuredAs(3), Batch: "all"}}
	all := allParts(one, measuredAll)
	if len(all) != 1 || all[0].file() != imagesDir+"questions-majority.svg" {
		t.Fatalf("%d pictures: %+v", len(all), all)
	}
	text := string(all[0].svg())
	if strings.Count(text, "<tspan") != 1 || strings.Count(text, `class="hatched"`) != 2 {
		t.Errorf("the picture shows other results:\n%s", text)
	}
	if summary := all[0].summary(); !strings.Contains(summary, "without faults 0 of 1") || !strings.Contains(summary, "partition not measured") {
		t.Errorf("the picture has the text %q", summary)
	}
	if none := allParts(nil, nil); none != nil || readme(nil, nil) != "" {
		t.Errorf("without results: %+v", none)
	}
	if page := questionsPage(nil, nil); !strings.Contains(page, "Not measured: `redsync`, `redsync-redigo`") || strings.Contains(page, "![") {
		t.Errorf("the page without results:\n%s", page)
	}
}

// TestOutcomes: a violation outside of the episodes that count decides nothing.
func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		cell  cell
		want  outcome
		label string
	}{
		{cell{}, uncounted, ""},
		{cell{Verdict: noPart}, noResult, "–"},
		{cell{Verdict: "valid", Violating: measuredAs(0), Episodes: measuredAs(5)}, held, "0/5"},
		{cell{Verdict: "unknown", Violating: measuredAs(0), Episodes: measuredAs(0)}, uncounted, "? of 0"},
		{cell{Verdict: "unknown", Violating: measuredAs(0), Episodes: measuredAs(5)}, undecided, "? of 5"},
		{cell{Verdict: "violated", Class: "double-grant", Violating: measuredAs(0), Episodes: measuredAs(5)}, undecided, "? of 5"},
		{cell{Verdict: "violated", Class: "double-grant", Violating: measuredAs(2), Episodes: measuredAs(5)}, granted, "D 2/5"},
		{cell{Verdict: "violated", Class: "results", Violating: measuredAs(2), Episodes: measuredAs(5)}, otherwise, "X 2/5"},
		{cell{Verdict: "violated", Violating: measuredAs(2), Episodes: measuredAs(5)}, otherwise, "X 2/5"},
	} {
		if o, label := test.cell.outcome(), test.cell.label(); o != test.want || label != test.label {
			t.Errorf("%+v is %q %q, expected %q %q", test.cell, o.class, label, test.want.class, test.label)
		}
	}
}

// TestContrast: texts can be read on each color of both themes.
func TestContrast(t *testing.T) {
	for _, p := range []palette{light, dark} {
		for _, o := range outcomes {
			if o != uncounted && o != noResult && p.cells[o.class] == "" {
				t.Errorf("%s has no color", o.class)
			}
		}
		for _, color := range append([]string{p.ground, p.stripe}, slices.Sorted(maps.Values(p.cells))...) {
			if c := contrast(t, p.text, color); c < 4.5 {
				t.Errorf("the contrast of %s on %s is %.1f", p.text, color, c)
			}
		}
	}
	if c := contrast(t, "#777777", "#ffffff"); math.Abs(c-4.48) > 0.01 {
		t.Errorf("the contrast of a known pair is %.2f", c)
	}
}

// contrast is the ratio of the Web Content Accessibility Guidelines.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light, dark := luminance(t, a), luminance(t, b)
	return (max(light, dark) + 0.05) / (min(light, dark) + 0.05)
}

func luminance(t *testing.T, color string) (sum float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatalf("%s: %v", color, err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			sum += weight * v / 12.92
		} else {
			sum += weight * math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return sum
}
