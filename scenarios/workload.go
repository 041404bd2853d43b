package scenarios

import (
	"fmt"

	"lockbench/locks/catalog"
	"lockbench/workloads"
)

// workload reads `counter` or `{counter: {clients: 8, ...}}`.
func (r *reader) workload(w *Workload, e entry) {
	if !isMap(e.value) {
		if name, ok := r.text(e); ok {
			r.workloadName(w, name)
		}
		return
	}
	list, _ := r.entries(e.value, e.path, "workload")
	for i, named := range list {
		switch {
		case i > 0:
			r.fail(named.key.at, fmt.Sprintf("is this a key of %s, and not far enough in?", w.Name), "a scenario has one workload")
			return
		case !r.workloadName(w, named.key):
			return
		case len(list) == 1:
			settings, _ := r.entries(named.value, e.path, w.Name)
			r.fields(settings, w, func(e entry) {
				r.unknown(e.key, keysOf(w), "keys", "the workload %s has no key %q", w.Name, e.key.text)
			})
		}
	}
}

func (r *reader) workloadName(w *Workload, name word) bool {
	if _, ok := workloads.Find(name.text); !ok {
		hint := suggest(name.text, sorted(workloads.All(), workName), "workloads")
		if _, near := catalog.Nearest(name.text, keysOf(w)); near {
			hint = "first comes the workload's name, as `counter: {clients: 8}`"
		}
		r.fail(name.at, hint, "no workload is named %q", name.text)
		return false
	}
	w.Name = name.text
	return true
}

// Params are the settings as the workload gets them.
func (w Workload) Params() workloads.Params {
	p := workloads.Params{TTL: w.TTL, Wait: w.Wait, HoldMin: w.Hold.From, HoldMax: w.Hold.To}
	for i := range w.Keys {
		p.Keys = append(p.Keys, keyName(i))
	}
	return p
}

// keyName is a, b, ... z, then k26 and so on.
func keyName(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprintf("k%d", i)
}
