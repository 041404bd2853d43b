package conform

import (
	"testing"

	"lockbench/internal/report"
)

// TestExitCode: a broken rule outweighs an undecided one on any topology.
func TestExitCode(t *testing.T) {
	kept, broken, undecided := On{Kept: 1}, On{Kept: 1, Broken: 1}, On{Kept: 1, Undecided: 1}
	for want, all := range map[int][][]On{
		report.ExitExpected:   {{kept}, {kept, {LeftOut: "not here"}}},
		report.ExitUnexpected: {{broken}, {broken, undecided}, {undecided, broken}, {kept, broken}, {{Broken: 1, Undecided: 1}}},
		report.ExitUnknown:    {{undecided}, {kept, undecided}, {undecided, kept}},
	} {
		for _, on := range all {
			r := Report{Topologies: on}
			if got := r.ExitCode(); got != want {
				t.Errorf("%+v: exit code %d, want %d", on, got, want)
			}
		}
	}
}
