package scenarios

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

var workloadKeys = []string{"clients", "keys", "ttl", "wait", "hold"}

// workload reads `counter` or `{counter: {clients: 8, ...}}`.
func (r *reader) workload(w *Workload, n ast.Node) {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		if name, ok := r.word(n, "workload"); ok {
			r.workloadName(w, name)
		}
		return
	}
	list, _ := r.entries(n, "workload", "workload")
	for i, e := range list {
		switch {
		case i > 0:
			r.fail(e.key.at, fmt.Sprintf("is this a key of %s, and not far enough in?", w.Name), "a scenario has one workload")
			return
		case !r.workloadName(w, e.key):
			return
		case len(list) == 1:
			r.workloadKeys(w, e.value)
		}
	}
}

func (r *reader) workloadName(w *Workload, name word) bool {
	if _, ok := r.known.Workloads[name.text]; !ok {
		hint := suggest(name.text, r.known.workloadNames(), "workloads")
		if _, near := Nearest(name.text, workloadKeys); near {
			hint = "first comes the workload's name, as `counter: {clients: 8}`"
		}
		r.fail(name.at, hint, "no workload is named %q", name.text)
		return false
	}
	w.Name = name.text
	return true
}

func (r *reader) workloadKeys(w *Workload, n ast.Node) {
	own := r.known.Workloads[w.Name]
	list, _ := r.entries(n, "workload", w.Name)
	for _, e := range list {
		path := "workload/" + e.key.text
		switch e.key.text {
		case "clients":
			scalar(r, path, e, &w.Clients, parseCount)
		case "keys":
			scalar(r, path, e, &w.Keys, parseCount)
		case "ttl":
			scalar(r, path, e, &w.TTL, parseDuration)
		case "wait":
			scalar(r, path, e, &w.Wait, parseDuration)
		case "hold":
			scalar(r, path, e, &w.Hold, parseRange)
		default:
			if !slices.Contains(own, e.key.text) {
				r.fail(e.key.at, suggest(e.key.text, slices.Concat(workloadKeys, own), "keys"),
					"the workload %s has no key %q", w.Name, e.key.text)
				continue
			}
			if value, ok := r.word(e.value, e.key.text); ok {
				if w.Options == nil {
					w.Options = map[string]string{}
				}
				w.Options[e.key.text] = value.text
			}
		}
	}
}
