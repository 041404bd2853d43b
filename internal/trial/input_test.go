package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	services "lockbench/internal/service/catalog"
)

// TestReadInput reads the servers of an input and rejects invalid inputs.
func TestReadInput(t *testing.T) {
	const rest = `"sim": "sim/1", "scenario": "x", "lock": {"name": "set-nx"}, "episodes": 1, "workload": {"name": "counter", "clients": 2, "keys": 1}`
	read := func(text string) (Input, error) {
		file := filepath.Join(t.TempDir(), InputFile)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadInput(file)
	}
	name := services.All()[0].Name
	if in, err := read(`{` + rest + `, "servers": {"` + name + `": {"settings": {"save": ""}}}}`); err != nil || len(in.Servers[name].Settings) != 1 {
		t.Errorf("got %+v, %v", in.Servers, err)
	}
	if _, err := read(`{` + rest + `, "servers": 3}`); err == nil || !strings.Contains(err.Error(), "it is not a job of the simulation") {
		t.Errorf("got %v", err)
	}
}
