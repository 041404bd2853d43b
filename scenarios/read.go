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

	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/service"
	services "lockbench/service/catalog"
)

// sizeMax bounds a scenario in bytes; a person writes a few thousand. It is not larger because
// what the reader of YAML takes grows with the square of some texts: a megabyte of opening
// brackets would take it minutes and terabytes.
const sizeMax = 16 << 10

// Read reads a scenario. The name is that of its file; errors show it.
func Read(name string, data []byte) (*Scenario, error) {
	s, r := read(name, data)
	if len(r.errs) > 0 {
		return nil, asError(r.errs)
	}
	return s, nil
}

// read also gives the reader, which knows the places.
func read(name string, data []byte) (*Scenario, *reader) {
	r := newReader(name)
	r.yaml = true
	s := defaults()
	s.Name, s.Source = nameOf(name), bytes.Clone(data)
	if root, ok := r.document(data); ok {
		r.scenario(s, root)
	}
	return s, r
}

// document makes a file a tree of one map.
func (r *reader) document(data []byte) (root ast.Node, ok bool) {
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range strings.SplitSeq(string(text), "\n") {
		r.lines = append(r.lines, strings.TrimSuffix(line, "\r"))
	}
	return r.parse(text)
}

// parse makes the text a tree of one map.
func (r *reader) parse(text []byte) (root ast.Node, ok bool) {
	if len(text) > sizeMax {
		r.fail(place{}, "", "this is more than the %d bytes that a %s can have", sizeMax, r.kind.name)
		return nil, false
	}
	for i, line := range r.lines {
		if !utf8.ValidString(line) {
			r.lines[i] = strings.ToValidUTF8(line, "�")
			r.fail(place{line: i + 1, column: 1}, "save it as UTF-8", "this line is not UTF-8 text")
			return nil, false
		}
	}
	file, err := parseYAML(text)
	if err != nil {
		var at place
		message := err.Error()
		if e := yaml.Error(nil); errors.As(err, &e) {
			at, message = placeOf(e.GetToken()), e.GetMessage()
			at.line = min(at.line, len(r.lines)) // a text that ends too early is faulted behind its end
		}
		r.fail(at, "", "this is not YAML: %s", message)
		return nil, false
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	switch len(docs) {
	case 0:
		r.fail(place{}, "begin with `lockbench: "+r.kind.version+"`", "the %s is empty", r.kind.name)
		return nil, false
	case 1:
		return docs[0].Body, true
	}
	r.fail(r.place(docs[1].Body), "", "a file holds one %s; here a second begins", r.kind.name)
	return nil, false
}

// parseYAML makes a panic of the YAML library an error: it reads what anybody
// writes, and a scenario must never be able to end the program.
func parseYAML(text []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML reader gave up: %v", p)
		}
	}()
	return parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey()) // entries tells of duplicates better
}

// scenario reads the whole.
func (r *reader) scenario(s *Scenario, root ast.Node) {
	top, ok := r.entries(root, "", "a scenario")
	if !ok || !r.version(top) {
		return // what another version means is not for this one to judge
	}
	r.fields(top, s, func(e entry) {
		switch key := e.key.text; {
		case key == "lockbench", key == "expect", key == "servers", r.shortForms(s, e):
		default:
			r.unknown(e.key, r.topKeys(), "keys", "a scenario has no key %q", key)
		}
	})
	if top.has("servers") {
		r.servers(s, top.of("servers"))
	}
	r.lasts(top.of("limit"), s.Limit)
	r.needs(top, "locks", "name at least one, as `locks: [set-nx]`")
	r.needs(top, "faults", "if nothing is to break, say `faults: none`")
	s.NoFaults = is(top.of("faults").value, "none")
	// Expectations last: they name locks, wherever in the file those stand.
	if top.has("expect") {
		s.Expect = r.expectations(top.of("expect"))
	}
	s.expectBroken(catalog.All())
	for _, b := range s.breaches() {
		r.breach(b)
	}
}

// topKeys are all keys of a scenario, in the order of the documentation.
func (r *reader) topKeys() []string { return nemesis.KeyNames(scenarioKeys()) }

func (r *reader) needs(top entries, key, hint string) {
	if !top.has(key) {
		r.fail(place{}, hint, "`%s:` is missing", key)
		r.bad[key] = true
	}
}

// version tells whether the file is for this version of lockbench.
func (r *reader) version(top entries) bool {
	if !top.has("lockbench") {
		r.fail(place{}, "begin with `lockbench: "+r.kind.version+"`", "the file does not say that it is a %s", r.kind.name)
		return false
	}
	w, ok := r.text(top.of("lockbench"))
	if ok && w.text != r.kind.version {
		r.fail(w.at, "this lockbench reads "+r.kind.version, "%q is no version known here", w.text)
		return false
	}
	return ok
}

var bugID = regexp.MustCompile(`^[A-Z]+-[0-9]+$`)

// shows are ids of the bug catalogue.
func (r *reader) shows(e entry) []string {
	items, _ := r.items(e, "shows", "[R-17, D-4]")
	var ids []string
	for _, item := range items {
		w, ok := r.text(item)
		if ok && !bugID.MatchString(w.text) {
			r.fail(w.at, "ids are those of docs/bugs.md, such as R-17", "%q is no id of a bug", w.text)
		}
		ids = append(ids, w.text)
	}
	return ids
}

// servers reads what is said of services: `{redis: {topology: sentinel, settings: {...}}}`.
func (r *reader) servers(s *Scenario, e entry) {
	list, _ := r.entries(e.value, e.path, "servers")
	for _, e := range list {
		of, ok := r.service(e.key)
		if !ok {
			continue
		}
		if _, twice := s.Servers[of.Name()]; twice {
			r.fail(e.key.at, "say it once", "`servers` and a key of its own both tell how %s is set up", of.Name())
		}
		on := s.On(of.Name())
		keys, _ := r.entries(e.value, e.path, e.key.text)
		for _, e := range keys {
			switch e.key.text {
			case "topology":
				r.topology(&on.Topology, e, of)
			case "settings":
				r.settings(&on, e, of)
			default:
				r.unknown(e.key, keysOf(&on), "keys", "servers have no key %q", e.key.text)
			}
		}
		s.Servers[of.Name()] = on
	}
}

// service finds a service by its name.
func (r *reader) service(w word) (service.Service, bool) {
	s, ok := find(services.All(), serviceName, w.text)
	if !ok {
		r.unknown(w, names(services.All(), serviceName), "services", "no service is named %q", w.text)
	}
	return s, ok
}

// shortForms reads the keys that stand for those of `servers`: `topology:` is that of the
// first service, and the name of a service its settings.
func (r *reader) shortForms(s *Scenario, e entry) (known bool) {
	first := services.All()[0]
	if e.key.text == "topology" {
		on := s.On(first.Name())
		r.families(&on.Topology, e, first)
		s.Servers[first.Name()] = on
		return true
	}
	of, known := find(services.All(), serviceName, e.key.text)
	if known {
		on := s.On(of.Name())
		r.settings(&on, e, of)
		s.Servers[of.Name()] = on
	}
	return known
}

// topology reads the topology of a service: one word, or one for each family.
func (r *reader) topology(t *Topology, e entry, of service.Service) {
	if isMap(e.value) {
		r.families(t, e, of)
		return
	}
	w, ok := r.text(e)
	if !ok {
		return
	}
	found, known := service.Find(of, locks.Topology(w.text))
	switch {
	case !known:
		r.unknown(w, names(of.Topologies(), topologyName), "topologies of "+of.Name(), "%s has no topology %q", of.Name(), w.text)
	case found.Leads == service.EachLeads:
		t.Majority = found.Name
	default:
		t.SingleStore = found.Name
	}
}

// families reads the servers of each family: `{single-store: sentinel, majority: {independent: 3}}`.
func (r *reader) families(t *Topology, e entry, of service.Service) {
	families, _ := r.entries(e.value, e.path, "topology")
	for _, e := range families {
		switch locks.Family(e.key.text) {
		case locks.SingleStore:
			scalar(r, e, &t.SingleStore, oneOf(singleStores(of), "topologies of a single store", "a single store has no topology %q"))
		case locks.Majority:
			r.majority(t, e)
		default:
			r.unknown(e.key, []string{string(locks.SingleStore), string(locks.Majority)}, "families", "no family of locks is named %q", e.key.text)
		}
	}
}

// singleStores are the topologies of a service for locks on a single store.
func singleStores(of service.Service) []locks.Topology {
	var stores []locks.Topology
	for _, t := range of.Topologies() {
		if t.Leads != service.EachLeads {
			stores = append(stores, t.Name)
		}
	}
	return stores
}

// majority reads `independent` or `{independent: 3}`.
func (r *reader) majority(t *Topology, e entry) {
	independent := func(w word) bool {
		if w.text != string(locks.Independent) {
			r.fail(w.at, "majority locks run on independent masters: `independent`, or `{independent: 3}`", "a majority lock has no topology %q", w.text)
		}
		return w.text == string(locks.Independent)
	}
	if !isMap(e.value) {
		if w, ok := r.text(e); ok {
			independent(w)
		}
		return
	}
	list, _ := r.entries(e.value, e.path, "majority")
	for _, e := range list {
		if independent(e.key) {
			scalar(r, e, &t.Masters, parseCount)
		}
	}
}
