package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"lockbench/nemesis"
)

// stepKeys are those of every step, whatever its fault.
var stepKeys = []string{"at", "when", "request", "hold", "for"}

// faults reads the steps of an episode, or `none`.
func (r *reader) faults(s *Scenario, n ast.Node) {
	if w, ok := n.(*ast.StringNode); ok && w.Value == "none" {
		s.NoFaults = true
		return
	}
	if w, ok := n.(*ast.StringNode); ok && w.Value == nemesis.RandomFaults {
		s.Faults = []nemesis.Step{{Fault: nemesis.RandomFaults}}
		return
	}
	if step, ok := r.random(n); ok {
		s.Faults = []nemesis.Step{step}
		return
	}
	items, ok := r.items(n, "faults", "`- kill: master`; if nothing is to break, say `faults: none`")
	if ok && len(items) == 0 {
		r.fail(r.place(n), "if nothing is to break, say `faults: none`", "the list of faults is empty")
	}
	for i, item := range items {
		path := fmt.Sprintf("faults/%d", i)
		r.where[path] = r.place(item)
		if step, ok := r.step(item, path); ok {
			s.Faults = append(s.Faults, step)
		} else {
			r.bad["faults"] = true
		}
	}
}

// random reads `random: {steps: 5, ...}`; not ok: it is something else.
func (r *reader) random(n ast.Node) (nemesis.Step, bool) {
	step := nemesis.Step{Fault: nemesis.RandomFaults, Options: map[string]string{}}
	if _, ok := n.(*ast.MappingNode); !ok {
		if _, ok := n.(*ast.MappingValueNode); !ok {
			return step, false
		}
	}
	list, ok := r.entries(n, "faults", "the faults")
	if !ok || len(list) != 1 || list[0].key.text != nemesis.RandomFaults {
		return step, false
	}
	options, ok := r.entries(list[0].value, "faults/random", "random faults")
	if !ok {
		r.bad["faults"] = true
		return step, true
	}
	for _, o := range options {
		if !slices.Contains(nemesis.RandomOptions, o.key.text) {
			r.fail(o.key.at, suggest(o.key.text, nemesis.RandomOptions, "keys"), "random faults have no key %q", o.key.text)
			r.bad["faults"] = true
			continue
		}
		if w, ok := r.word(o.value, o.key.text); ok {
			one := nemesis.Step{Fault: nemesis.RandomFaults, Options: map[string]string{o.key.text: w.text}}
			if err := nemesis.CheckRandom(one); err != nil {
				r.fail(w.at, "", "%v", err)
				r.bad["faults"] = true
			}
			step.Options[o.key.text] = w.text
		}
	}
	return step, true
}

// step reads one step: a fault's name with its target, the keys of every step,
// and the fault's own.
func (r *reader) step(n ast.Node, path string) (nemesis.Step, bool) {
	var step nemesis.Step
	list, ok := r.entries(n, path, "a step")
	if !ok {
		return step, false
	}
	fault, ok := r.faultOf(list, r.place(n))
	if !ok {
		return step, false
	}
	info := r.known.Faults[fault.key.text]
	step.Fault = fault.key.text
	before := len(r.errs)
	step.Target = r.target(fault, info.Target)
	for _, e := range list {
		if e.key.text != fault.key.text {
			r.stepKey(&step, e, join(path, e.key.text), info)
		}
	}
	if info.Check != nil && len(r.errs) == before {
		if err := info.Check(step); err != nil {
			r.checked(path, fault.key.at, err)
		}
	}
	if step.At != nil && step.When != "" {
		r.fail(keyOf(list, "when"), "keep the one that is meant", "a step starts `at` a time or `when` something happens, not both")
	}
	if step.Hold != nil && step.When != nemesis.Acquired && step.When != nemesis.Checked && !r.bad[join(path, "when")] {
		r.fail(keyOf(list, "hold"), "add `when: acquired` or `when: checked`", "`hold` asks the client whose lock started the step to hold on, and no such client started this one")
	}
	if step.Request > 0 && step.When != nemesis.Acquiring && step.When != nemesis.Releasing && !r.bad[join(path, "when")] {
		r.fail(keyOf(list, "request"), "add `when: acquiring` or `when: releasing`", "`request` counts the requests of an operation, and no operation starts this step")
	}
	return step, len(r.errs) == before
}

// faultOf finds the one key that is a fault's name.
func (r *reader) faultOf(list []entry, at place) (entry, bool) {
	var found []entry
	for _, e := range list {
		if _, ok := r.known.Faults[e.key.text]; ok {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], true
	case 0:
		for _, e := range list {
			if !slices.Contains(stepKeys, e.key.text) {
				r.fail(e.key.at, suggest(e.key.text, r.known.faultNames(), "faults"), "no fault is named %q", e.key.text)
				return entry{}, false
			}
		}
		r.fail(at, "faults: "+strings.Join(r.known.faultNames(), ", "), "the step names no fault")
		return entry{}, false
	}
	r.fail(found[1].key.at, "make two steps of it", "a step has one fault, and both %q and %q are faults", found[0].key.text, found[1].key.text)
	return entry{}, false
}

// target reads what a fault strikes: a role or a link.
func (r *reader) target(e entry, kind TargetKind) string {
	w, ok := r.word(e.value, e.key.text)
	if !ok {
		return ""
	}
	arrow := " -> "
	from, to, linked := w.cut("<->")
	if linked {
		arrow = " <-> "
	} else {
		from, to, linked = w.cut("->")
	}
	switch {
	case kind == Role && linked:
		r.fail(w.at, "roles: "+strings.Join(r.known.Roles, ", "), "%s strikes a role, and %q is a link", e.key.text, w.text)
	case kind == Role:
		r.role(w)
	case !linked:
		r.fail(w.at, "links are written `master -> replicas`, or `<->` for both directions", "%s strikes a link, and %q is none", e.key.text, w.text)
	default:
		from, to = from.trimmed(), to.trimmed()
		r.role(from)
		r.role(to)
		return from.text + arrow + to.text
	}
	return w.text
}

// nodeName is how one node or client is named instead of a role.
var nodeName = regexp.MustCompile(`^(redis|sentinel|client)-[1-9][0-9]*$`)

// role reads a role, with or without an article, or several: `the holder`,
// `master and sentinel-1`.
func (r *reader) role(w word) {
	ends := nemesis.Ends(w.text)
	for _, end := range ends {
		if !slices.Contains(r.known.Roles, end) && !nodeName.MatchString(end) {
			r.fail(w.at, suggest(end, r.known.Roles, "roles"), "no role is named %q", shown(w.text, ends, end))
			return
		}
	}
}

// shown is the end of a target as it was written.
func shown(target string, ends []string, end string) string {
	if len(ends) == 1 {
		return target
	}
	return end
}

// stepKey reads any other key of a step.
func (r *reader) stepKey(step *nemesis.Step, e entry, path string, info FaultInfo) {
	var span nemesis.Range
	switch key := e.key.text; key {
	case "at":
		if scalar(r, path, e, &span, parseRange) {
			step.At = &span
		}
	case "hold":
		if scalar(r, path, e, &span, parseSpanRange) {
			step.Hold = &span
		}
	case "for":
		if scalar(r, path, e, &span, parseSpanRange) {
			step.For = &span
		}
	case "request":
		scalar(r, path, e, &step.Request, parseCount)
	case "when":
		r.bad[path] = true
		if w, ok := r.word(e.value, key); ok {
			if step.When = nemesis.Event(w.text); slices.Contains(r.known.Events, step.When) {
				delete(r.bad, path)
			} else {
				r.fail(w.at, suggest(w.text, r.known.eventNames(), "events"), "no event is named %q", w.text)
			}
		}
	default:
		if !slices.Contains(info.Options, key) {
			r.fail(e.key.at, suggest(key, slices.Concat(stepKeys, info.Options), "keys"), "%s has no key %q", step.Fault, key)
			return
		}
		w, ok := r.word(e.value, key)
		if !ok {
			return
		}
		if slices.Contains(info.RoleOptions, key) {
			r.role(w)
		}
		if step.Options == nil {
			step.Options = map[string]string{}
		}
		step.Options[key] = w.text
	}
}

func keyOf(list []entry, key string) place {
	for _, e := range list {
		if e.key.text == key {
			return e.key.at
		}
	}
	return place{}
}
