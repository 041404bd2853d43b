package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/locks"
	services "lockbench/service/catalog"
)

// An input of a program that knew one service is read as one of today.
func TestInputOfAnEarlierProgram(t *testing.T) {
	const rest = `"sim": "sim/1", "scenario": "x", "lock": {"name": "set-nx"}, "episodes": 1, "workload": {"name": "counter", "clients": 2, "keys": 1}`
	read := func(text string) (Input, error) {
		file := filepath.Join(t.TempDir(), InputFile)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadInput(file)
	}
	name := services.All()[0].Name()
	in, err := read(`{` + rest + `, "topology": {"SingleStore": "sentinel"}, "` + name + `": {"appendonly": "yes"}}`)
	if err != nil {
		t.Fatal(err)
	}
	got := in.AsScenario().Servers[name]
	if got.Settings["appendonly"] != "yes" || got.Topology.SingleStore != locks.Topology("sentinel") {
		t.Errorf("the servers are %+v", in.Servers)
	}
	if in, err = read(`{` + rest + `, "servers": {"` + name + `": {"settings": {"save": ""}}}}`); err != nil || len(in.Servers[name].Settings) != 1 {
		t.Errorf("got %+v, %v", in.Servers, err)
	}
	if _, err = read(`{` + rest + `, "topology": {}, "` + name + `": 3}`); err == nil || !strings.Contains(err.Error(), "it is no job of the simulation") {
		t.Errorf("got %v", err)
	}
}
