package scenarios

import (
	"fmt"

	"lockbench/workloads"
)

// workload reads `counter` or `{counter: {clients: 8, ...}}`.
func (r *reader) workload(w *Workload, e entry) {
	if !isMap(e.value) {
		r.workloadName(w, r.text(e))
		return
	}
	list := r.entries(e.value, e.path, "workload")
	if len(list) == 0 {
		return
	}
	r.workloadName(w, list[0].key)
	if len(list) > 1 {
		r.fail(list[1].key.at, fmt.Sprintf("indent the keys of %s further", w.Name), "a scenario has one workload")
	}
	r.fields(r.entries(list[0].value, e.path, w.Name), w, func(e entry) {
		r.unknown(e.key, keysOf(w), "the workload %s has no key %q", w.Name, e.key.text)
	})
}

func (r *reader) workloadName(w *Workload, name word) {
	if _, ok := workloads.Find(name.text); !ok {
		r.unknown(name, sorted(workloads.All(), workName), "no workload is named %q", name.text)
	}
	w.Name = name.text
}

// Params returns the settings for the workload.
func (w Workload) Params() workloads.Params {
	p := workloads.Params{TTL: w.TTL, Wait: w.Wait, HoldMin: w.Hold.From, HoldMax: w.Hold.To, ThinkMin: w.Think.From, ThinkMax: w.Think.To}
	for i := range w.Keys {
		p.Keys = append(p.Keys, keyName(i))
	}
	return p
}

// keyName returns a, b, ... z, then k26 and so on.
func keyName(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprintf("k%d", i)
}
