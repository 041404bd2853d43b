package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/locks"
)

// sizeMax limits the size of a scenario in bytes; usual scenarios have a few thousand. The time and memory of the YAML
// parser grow quadratically for some texts: for a megabyte of opening brackets, minutes and terabytes.
const sizeMax = 16 << 10

// Read parses a scenario. name is the name of its file, for errors.
func Read(name string, data []byte) (*Scenario, error) {
	r := newReader(name)
	s := defaults()
	s.Name, s.Source, s.file, s.where = nameOf(name), bytes.Clone(data), name, r.where
	r.try(func() { r.scenario(s, r.document(data)) })
	if err := joined(r.errs); err != nil {
		return nil, err
	}
	return s, nil
}

// document returns the keys of a file.
func (r *reader) document(data []byte) pairs {
	node := r.parse(data)
	if node == nil {
		r.fail(position{}, "begin with `lockbench: "+Version+"`", "the scenario is empty")
	}
	top := r.pairs(node, "", "a scenario")
	if !top.has("lockbench") {
		r.fail(position{}, "begin with `lockbench: "+Version+"`", "the file does not say that it is a scenario")
	}
	if w := r.text(top.get("lockbench")); w.text != Version {
		r.fail(w.at, "this lockbench reads "+Version, "%q is not a known version", w.text)
	}
	return top
}

// parse parses a text with one YAML document. The node of an empty text is nil.
func (r *reader) parse(data []byte) ast.Node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > sizeMax {
		r.fail(position{}, "", "this is more than the %d bytes that a scenario can have", sizeMax)
	}
	lines := bytes.Split(data, []byte("\n"))
	if i := slices.IndexFunc(lines, func(line []byte) bool { return !utf8.Valid(line) }); i >= 0 {
		r.fail(position{i + 1, 1}, "save it as UTF-8", "this line is not UTF-8 text")
	}
	file, err := parseYAML(data)
	if err != nil {
		var at position
		message := err.Error()
		if e := yaml.Error(nil); errors.As(err, &e) {
			at, message = positionOfToken(e.GetToken()), e.GetMessage()
			at.line = min(at.line, len(lines)) // the place of an unexpected end is after the last line
		}
		r.fail(at, "", "invalid YAML: %s", message)
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	switch len(docs) {
	case 0:
		return nil
	case 1:
		return docs[0].Body
	}
	r.fail(positionOf(docs[1].Body), "", "a file holds one scenario; here a second begins")
	panic("fail returns only with a mistake")
}

// parseYAML turns a panic of the YAML library into an error.
func parseYAML(text []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML reader gave up: %v", p)
		}
	}()
	return parser.ParseBytes(text, 0)
}

// scenario reads all keys.
func (r *reader) scenario(s *Scenario, top pairs) {
	first := services.All()[0]
	r.try(func() {
		r.fields(top, s, func(e pair) {
			on := s.On(first.Name)
			switch e.key.text {
			case "topology":
				r.topology(&on.Topology, e, first)
				s.Servers[first.Name] = on
			case first.Name:
				r.settings(&on, e, first)
				s.Servers[first.Name] = on
			case "lockbench", "expect", "servers":
			default:
				keys := slices.Concat([]string{"lockbench"}, keysOf(s), []string{"topology", first.Name, "servers", "expect"})
				r.unknown(e.key, keys, "a scenario has no key %q", e.key.text)
			}
		})
	})
	if top.has("servers") {
		r.try(func() { r.servers(s, top.get("servers")) })
	}
	r.needs(top, "locks", "name at least one, as `locks: [set-nx]`")
	r.needs(top, "faults", "without faults, write `faults: none`")
	s.NoFaults = is(top.get("faults").value, "none")
	// Expectations come last, because they name locks.
	if top.has("expect") {
		r.try(func() { s.Expect = r.expectations(top.get("expect"), s.Locks) })
	}
	if len(r.errs) == 0 { // otherwise the values may be incomplete
		for _, b := range s.breaches() {
			r.errs = append(r.errs, s.placed(b))
		}
	}
}

func (r *reader) needs(top pairs, key, hint string) {
	if !top.has(key) {
		r.add(position{}, wrong(hint, "`%s:` is missing", key))
	}
}

var bugID = regexp.MustCompile(`^[A-Z]+-[0-9]+$`)

// shows reads ids of the bug catalogue.
func (r *reader) shows(e pair) (ids []string) {
	r.each(r.items(e, "shows", "[R-17, D-4]"), func(item pair) {
		w := r.text(item)
		if !bugID.MatchString(w.text) {
			r.fail(w.at, "ids are those of docs/bugs.md, such as R-17", "%q is not the id of a bug", w.text)
		}
		ids = append(ids, w.text)
	})
	return ids
}

// servers reads the servers of services: `{redis: {topology: sentinel, settings: {...}}}`.
func (r *reader) servers(s *Scenario, e pair) {
	r.each(r.pairs(e.value, e.path, "servers"), func(e pair) {
		of, ok := services.Find(e.key.text)
		if !ok {
			r.unknown(e.key, names(services.All(), serviceName), "no service is named %q", e.key.text)
		}
		if _, twice := s.Servers[of.Name]; twice {
			r.fail(e.key.at, "keep one of them", "`servers` and a separate key both configure %s", of.Name)
		}
		on := s.On(of.Name)
		r.each(r.pairs(e.value, e.path, e.key.text), func(e pair) {
			switch e.key.text {
			case "topology":
				r.topology(&on.Topology, e, of)
			case "settings":
				r.settings(&on, e, of)
			default:
				r.unknown(e.key, keysOf(&on), "servers have no key %q", e.key.text)
			}
		})
		s.Servers[of.Name] = on
	})
}

// topology reads the topology of a service: one word, or one for each family.
func (r *reader) topology(t *Topology, e pair, of *service.Service) {
	if isMap(e.value) {
		r.families(t, e, of)
		return
	}
	w := r.text(e)
	found, known := service.Find(of, locks.Topology(w.text))
	switch {
	case !known:
		r.unknown(w, names(of.Topologies, topologyName), "%s has no topology %q", of.Name, w.text)
	case found.Leads == service.EachLeads:
		t.Majority = found.Name
	default:
		t.SingleStore = found.Name
	}
}

// families reads the servers of each family: `{single-store: sentinel, majority: {independent: 3}}`.
func (r *reader) families(t *Topology, e pair, of *service.Service) {
	r.each(r.pairs(e.value, e.path, "topology"), func(e pair) {
		switch locks.Family(e.key.text) {
		case locks.SingleStore:
			t.SingleStore = scalar(r, e, oneOf(singleStores(of), "a single store has no topology %q"))
		case locks.Majority:
			r.majority(t, e)
		default:
			r.unknown(e.key, []string{string(locks.SingleStore), string(locks.Majority)}, "no family of locks is named %q", e.key.text)
		}
	})
}

// singleStores returns the topologies of a service for locks on a single store.
func singleStores(of *service.Service) []locks.Topology {
	var stores []locks.Topology
	for _, t := range of.Topologies {
		if t.Leads != service.EachLeads {
			stores = append(stores, t.Name)
		}
	}
	return stores
}

// majority reads `independent` or `{independent: 3}`.
func (r *reader) majority(t *Topology, e pair) {
	known := []locks.Topology{locks.Independent}
	if !isMap(e.value) {
		t.Majority = scalar(r, e, oneOf(known, "a majority lock has no topology %q"))
		return
	}
	r.each(r.pairs(e.value, e.path, "majority"), func(e pair) {
		if locks.Topology(e.key.text) != locks.Independent {
			r.unknown(e.key, names(known, plain), "a majority lock has no topology %q", e.key.text)
		}
		t.Masters = scalar(r, e, parseCount)
	})
}

// settings reads the settings of a service's servers. Unknown settings and values would make a server exit at its start,
// which would be noticed late.
func (r *reader) settings(on *Servers, e pair, of *service.Service) {
	on.Settings = map[string]string{}
	all := of.Settings
	r.each(r.pairs(e.value, e.path, e.key.text), func(e pair) {
		s, known := find(all, settingName, e.key.text)
		switch {
		case len(all) > 0 && !known:
			r.unknown(e.key, names(freeSettings(of), settingName), "%s has no setting %q", of.Name, e.key.text)
		case s.Decided != "":
			r.fail(e.key.at, "leave it out", "a scenario cannot set %s: %s", e.key.text, s.Decided)
		default:
			r.setting(s, r.option(e, &on.Settings))
		}
	})
}

// setting checks the value of a setting.
func (r *reader) setting(s service.Setting, value word) {
	switch {
	case s.Accepts(value.text):
	case s.Values[0] == service.Number:
		r.fail(value.at, "write a whole number", "%s cannot be %q", s.Name, value.text)
	default:
		r.fail(value.at, "its values are "+strings.Join(s.Values, ", "), "%s cannot be %q", s.Name, value.text)
	}
}

// freeSettings returns the settings of a service that a scenario may change.
func freeSettings(of *service.Service) []service.Setting {
	return slices.DeleteFunc(slices.Clone(of.Settings), func(s service.Setting) bool { return s.Decided != "" })
}

func settingName(s service.Setting) string { return s.Name }
