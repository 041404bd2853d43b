package run

import (
	"testing"

	"lockbench/scenarios"
)

// The scenarios that come along name nothing that the catalogs do not have.
func TestEmbeddedScenariosFitTheCatalogs(t *testing.T) {
	known := Known()
	for _, name := range scenarios.Names() {
		if _, err := scenarios.Load(name, known); err != nil {
			t.Errorf("%v", err)
		}
	}
}
