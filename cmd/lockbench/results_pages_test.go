package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The tables of docs/libraries.md and docs/one-plan.md show what the files in results say, and
// nothing else.
func TestPagesShowTheResults(t *testing.T) {
	for _, p := range []resultsPage{
		{page: "libraries", results: "libraries", worlds: []string{"sim", "local", "docker"}},
		{page: "one-plan", results: "services", worlds: []string{"local"}, besides: []string{"set-nx", "redisson", "redlock"}},
	} {
		t.Run(p.page, p.showsTheResults)
	}
}

// resultsPage is a page whose tables a script of results writes.
type resultsPage struct {
	page, results string
	worlds        []string // one after the other in each field
	besides       []string // locks that come from results/reference
}

func (p resultsPage) showsTheResults(t *testing.T) {
	var records []struct {
		Scenario, Lock, World, Verdict string
		K, N                           int
	}
	if err := json.Unmarshal([]byte(read(t, "results/"+p.results+".json")), &records); err != nil {
		t.Fatal(err)
	}
	want := map[[3]string]string{}
	noPart := map[[3]string]bool{} // locks that cannot take part
	for _, r := range records {
		if !slices.Contains(p.worlds, r.World) {
			continue
		}
		rate := fmt.Sprintf("%d/%d", r.K, r.N)
		of := [3]string{r.Scenario, r.Lock, r.World}
		switch r.Verdict {
		case "unknown":
			rate = "?"
		case "none":
			noPart[of] = true
			continue
		}
		want[of] = rate
	}
	mark := strings.ReplaceAll(p.page, "-", " ")
	text := pages(t)[top+"docs/"+p.page+".md"]
	_, text, _ = strings.Cut(text, "<!-- "+mark+" -->")
	text, _, _ = strings.Cut(text, "<!-- end of "+mark+" -->")
	class := regexp.MustCompile(`\*\*[a-z-]+\*\* `)
	var columns []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		switch cells[0] {
		case "scenario":
			columns = cells
			continue
		case "", "---":
			continue
		}
		for i := 1; i < len(cells) && i < len(columns); i++ {
			if cells[i] == "" || slices.Contains(p.besides, columns[i]) {
				continue
			}
			for n, rate := range strings.Split(class.ReplaceAllString(cells[i], ""), " · ") {
				of := [3]string{cells[0], columns[i], p.worlds[n]}
				if rate == "–" {
					if !noPart[of] {
						t.Errorf("%v: the page shows that it takes no part, the results are %q", of, want[of])
					}
					continue
				}
				if rate != "-" && want[of] != rate {
					t.Errorf("%v: the page shows %s, the results are %q", of, rate, want[of])
				}
				if rate != "-" {
					delete(want, of)
				}
			}
		}
	}
	for of, rate := range want {
		t.Errorf("%v: %s is not on the page; results/%s.sh writes it", of, rate, p.results)
	}
}
