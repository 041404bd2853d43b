package scenarios

import (
	"fmt"

	"lockbench/workloads"
)

// workload reads `counter` or `{counter: {clients: 8, ...}}`.
func (r *reader) workload(w *Workload, e pair) {
	if !isMap(e.value) {
		r.workloadName(w, r.text(e))
		return
	}
	list := r.pairs(e.value, e.path, "workload")
	if len(list) == 0 {
		return
	}
	r.workloadName(w, list[0].key)
	if len(list) > 1 {
		r.fail(list[1].key.at, fmt.Sprintf("indent the keys of %s further", w.Name), "a scenario has one workload")
	}
	r.fields(r.pairs(list[0].value, e.path, w.Name), w, func(e pair) {
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
		p.Keys = append(p.Keys, w.Names.key(i))
	}
	return p
}

// KeyNames is the kind of the names of keys.
type KeyNames string

// The kinds of names.
const (
	Letters KeyNames = "letters"
	Varied  KeyNames = "varied"
)

// varied are names of several lengths. Some begin with others, and some have the braces by which a Redis Cluster chooses the
// slot of a key.
var varied = []string{"a", "ab", "a b", "ab:", "a{b}", "{a}b", "ä", "äöü 東京", "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-0123456789"}

// key returns the name of a key.
func (n KeyNames) key(i int) string {
	switch {
	case n != Varied:
		return keyName(i)
	case i < len(varied):
		return varied[i]
	}
	return fmt.Sprintf("%s%d", varied[i%len(varied)], i)
}

// keyName returns a, b, ... z, then k26 and so on.
func keyName(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprintf("k%d", i)
}
