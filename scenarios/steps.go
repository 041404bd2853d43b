package scenarios

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"lockbench/internal/history"
	services "lockbench/internal/service/catalog"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// is reports whether a node is the given word.
func is(n ast.Node, word string) bool {
	s, ok := n.(*ast.StringNode)
	return ok && s.Value == word
}

// faults reads the steps of an episode, or `none`, or `random`.
func (r *reader) faults(e pair) (steps []nemesis.Step) {
	switch {
	case is(e.value, "none"):
		return nil
	case is(e.value, nemesis.RandomFaults):
		return []nemesis.Step{{Fault: nemesis.RandomFaults}}
	case isMap(e.value):
		if list := r.pairs(e.value, e.path, "the faults"); len(list) == 1 && list.has(nemesis.RandomFaults) {
			return []nemesis.Step{r.random(list[0])}
		}
	}
	items := r.items(e, "a step", "`- kill: master`; without faults, write `faults: none`")
	if len(items) == 0 {
		r.fail(positionOf(e.value), "without faults, write `faults: none`", "the list of faults is empty")
	}
	r.each(items, func(item pair) {
		s := stepReader{reader: r, list: r.pairs(item.value, item.path, "a step")}
		steps = append(steps, s.step(item))
	})
	return steps
}

// random reads `random: {steps: 5, ...}`.
func (r *reader) random(e pair) nemesis.Step {
	step := nemesis.Step{Fault: nemesis.RandomFaults, Options: map[string]string{}}
	r.each(r.pairs(e.value, e.path, "random faults"), func(o pair) {
		if _, ok := nemesis.KeyOf(nemesis.RandomKeys, o.key.text); !ok {
			r.unknown(o.key, nemesis.KeyNames(nemesis.RandomKeys), "random faults have no key %q", o.key.text)
		}
		w := r.option(o, &step.Options)
		one := nemesis.Step{Fault: nemesis.RandomFaults, Options: map[string]string{o.key.text: w.text}}
		if err := nemesis.CheckRandom(one); err != nil {
			r.fail(w.at, "", "%v", err)
		}
	})
	return step
}

// stepReader reads one step.
type stepReader struct {
	*reader
	list pairs
}

// step reads a fault's name with its target, the keys of every step, and the fault's own.
func (r *stepReader) step(item pair) (step nemesis.Step) {
	strikes := r.faultOf(positionOf(item.value))
	fault, _ := nemesis.Find(strikes.key.text)
	step.Fault = fault.Name
	r.fields(r.list, &step, func(e pair) {
		key, known := nemesis.KeyOf(fault.Keys, e.key.text)
		switch {
		case e.key.text == fault.Name:
			step.Target = r.target(e, fault.Link)
		case !known:
			r.unknown(e.key, slices.Concat(keysOf(&step), nemesis.KeyNames(fault.Keys)), "%s has no key %q", fault.Name, e.key.text)
		default:
			if w := r.option(e, &step.Options); key.Takes == nemesis.TakesRole {
				r.role(w.text, w.at)
			}
		}
	})
	for key, span := range map[string]*nemesis.Length{"hold": step.Hold, "for": step.For} {
		if span != nil && span.From == 0 {
			r.fail(r.where[r.list.get(key).path], "", "%s: a duration above 0s is needed", key)
		}
	}
	r.starts(step)
	if _, err := fault.New(step); err != nil {
		r.checked(item.path, strikes.key.at, err)
	}
	return step
}

// starts reports keys of a step that contradict its trigger.
func (r *stepReader) starts(s nemesis.Step) {
	if s.At != nil && s.When == nemesis.Idle {
		r.fail(r.list.get("when").key.at, "keep one of them", "a step starts `at` a time or `when: idle`, not both")
	}
	if s.Mode != nil && (s.When == "" || s.When == nemesis.Idle || s.When == nemesis.Renewed) {
		r.fail(r.list.get("mode").key.at, "add `when: acquiring` or another moment of a client", "`mode` is that of the request of the client that triggers the step, but no client triggers this one")
	}
	if s.Client != "" && (s.When == "" || s.When == nemesis.Idle || s.When == nemesis.Renewed) {
		r.fail(r.list.get("client").key.at, "add `when: acquiring` or another moment of a client", "`client` is the client that triggers the step, but no client triggers this one")
	}
	if p := history.ParseParty(s.Client); s.Client != "" && (!p.IsClient() || p.String() != s.Client) {
		r.fail(r.where[r.list.get("client").path], "clients are called client-0, client-1 and so on", "no client is named %q", s.Client)
	}
	if s.Nth > 0 && s.Client == "" {
		r.fail(r.list.get("nth").key.at, "add `client: client-0` or another client", "`nth` counts the moments of one client")
	}
	if s.When == nemesis.Renewing && s.Request == 0 {
		r.fail(r.list.get("when").key.at, "add `request: 1`", "`when: renewing` starts the step in the middle of a renewal")
	}
	if s.Hold != nil && s.When != workloads.Acquired && s.When != workloads.Checked && s.When != nemesis.Renewing {
		r.fail(r.list.get("hold").key.at, "add `when: acquired`, `when: checked` or `when: renewing`", "`hold` extends the hold of the client that triggered the step, but no client triggers this one")
	}
	if s.Until != "" && s.Hold == nil {
		r.fail(r.list.get("until").key.at, "add `hold: 2s` or another length", "`until` says how long a hold goes on, and this step asks for none")
	}
	if s.Request > 0 && s.When != workloads.Acquiring && s.When != workloads.Checked && s.When != nemesis.Renewing && s.When != workloads.Releasing {
		r.fail(r.list.get("request").key.at, "add `when: acquiring`, `when: checked`, `when: renewing` or `when: releasing`", "`request` counts the requests of the client that triggered the step, but no client triggers this one")
	}
}

// faultOf finds the first key that is a fault's name.
func (r *stepReader) faultOf(at position) pair {
	for _, e := range r.list {
		if _, ok := nemesis.Find(e.key.text); ok {
			return e
		}
	}
	faults := sorted(nemesis.All(), faultName)
	for _, e := range r.list {
		if !slices.Contains(keysOf(&nemesis.Step{}), e.key.text) {
			r.unknown(e.key, faults, "no fault is named %q", e.key.text)
		}
	}
	r.fail(at, catalog.DidYouMean("", faults), "the step names no fault")
	panic("fail returns only with a mistake")
}

// target reads the target of a fault: a role or a link.
func (r *stepReader) target(e pair, link bool) string {
	w := r.text(e)
	arrow := "<->"
	if !strings.Contains(w.text, arrow) {
		arrow = "->"
	}
	from, to, linked := strings.Cut(w.text, arrow)
	switch {
	case !link && linked:
		r.fail(w.at, catalog.DidYouMean("", names(roles(), roleName)), "%s takes a role, and %q is a link", e.key.text, w.text)
	case !link:
		r.role(w.text, w.at)
	case !linked:
		r.fail(w.at, "links are written `master -> replicas`, or `<->` for both directions", "%s takes a link, and %q is not one", e.key.text, w.text)
	default:
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		r.role(from, w.at)
		r.role(to, w.at)
		return from + " " + arrow + " " + to
	}
	return w.text
}

// role reads one or several roles, with or without an article: `the holder`, `master and sentinel-1`.
func (r *stepReader) role(text string, at position) {
	roles := names(roles(), roleName)
	for _, end := range nemesis.Ends(text) {
		if !slices.Contains(roles, end) && !nemesis.IsMember(end, services.All()) {
			r.unknown(word{end, at}, roles, "no role is named %q", end)
		}
	}
}
