package run

import (
	"strings"
	"testing"

	"lockbench/internal/report"
)

// Each world says what it is, and a result carries what its reports must warn of.
func TestWorldsDescribeThemselves(t *testing.T) {
	for _, w := range Worlds(WorldOptions{}) {
		found, ok := Find(w.Name())
		if !ok || found.Name() != w.Name() {
			t.Errorf("%s is not found by its name", w.Name())
		}
		d := w.Describe()
		if d.What == "" || !strings.HasPrefix(d.Caveat, "World "+w.Name()+" runs ") {
			t.Errorf("%s describes itself as %+v", w.Name(), d)
		}
		var r report.Result
		NoteWorld(&r, w)
		if r.World != w.Name() || r.WorldCaveat != d.Caveat || r.Virtual != d.Virtual || !strings.HasPrefix(r.ServersCaveat, "Failovers are quick here") {
			t.Errorf("the result says %+v", r)
		}
	}
	if _, ok := Find("nowhere"); ok {
		t.Error("a world is called nowhere")
	}
}
