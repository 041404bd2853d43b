package run

import (
	"strings"
	"testing"

	"lockbench/internal/report"
)

// Each world describes itself, and a result contains the caveats of its world.
func TestWorldsDescribeThemselves(t *testing.T) {
	for _, w := range Worlds(WorldOptions{}) {
		found, ok := Find(w.Name())
		if !ok || found.Name() != w.Name() {
			t.Errorf("%s is not found by name", w.Name())
		}
		d := w.Describe()
		if d.What == "" || !strings.HasPrefix(d.Caveat, "World "+w.Name()+" runs ") {
			t.Errorf("%s: description %+v", w.Name(), d)
		}
		var r report.Result
		NoteWorld(&r, w)
		if r.World != w.Name() || r.WorldCaveat != d.Caveat || r.Virtual != d.Virtual || !strings.HasPrefix(r.ServersCaveat, "Failovers are quick here") {
			t.Errorf("result %+v", r)
		}
	}
	if _, ok := Find("nowhere"); ok {
		t.Error("found a world called nowhere")
	}
}
