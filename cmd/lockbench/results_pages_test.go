package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// The tables of docs/libraries.md show what results/libraries.json says, and nothing else.
func TestLibrariesPageShowsTheResults(t *testing.T) {
	var records []struct {
		Scenario, Lock, World, Verdict string
		K, N                           int
	}
	if err := json.Unmarshal([]byte(read(t, "results/libraries.json")), &records); err != nil {
		t.Fatal(err)
	}
	want := map[[3]string]string{}
	for _, r := range records {
		rate := fmt.Sprintf("%d/%d", r.K, r.N)
		if r.Verdict == "unknown" {
			rate = "?"
		}
		want[[3]string{r.Scenario, r.Lock, r.World}] = rate
	}
	text := pages(t)[top+"docs/libraries.md"]
	_, text, _ = strings.Cut(text, "<!-- libraries -->")
	text, _, _ = strings.Cut(text, "<!-- end of libraries -->")
	class := regexp.MustCompile(`\*\*[a-z-]+\*\* `)
	var libraries []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		switch cells[0] {
		case "scenario":
			libraries = cells
			continue
		case "", "---":
			continue
		}
		for i := 1; i < len(cells) && i < len(libraries); i++ {
			if cells[i] == "" {
				continue
			}
			for n, rate := range strings.Split(class.ReplaceAllString(cells[i], ""), " · ") {
				of := [3]string{cells[0], libraries[i], []string{"sim", "local", "docker"}[n]}
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
		t.Errorf("%v: %s is not on the page; results/libraries.sh writes it", of, rate)
	}
}
