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
)

// sizeMax bounds a scenario in bytes; a person writes a few thousand. It is not larger because
// what the reader of YAML takes grows with the square of some texts: a megabyte of opening
// brackets would take it minutes and terabytes.
const sizeMax = 16 << 10

var topKeys = []string{"lockbench", "about", "shows", "locks", "topology", "redis", "workload",
	"episodes", "quiet", "limit", "faults", "expect"}

// Read reads a scenario. The name is that of its file; errors show it.
func Read(name string, data []byte, known Known) (*Scenario, error) {
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	r := &reader{file: name, yaml: true, known: known, where: map[string]place{}, bad: map[string]bool{}}
	for line := range strings.SplitSeq(string(text), "\n") {
		r.lines = append(r.lines, strings.TrimSuffix(line, "\r"))
	}
	s := defaults()
	s.Name, s.Source = nameOf(name), bytes.Clone(data)
	if root, ok := r.parse(text); ok {
		r.scenario(s, root)
	}
	if len(r.errs) > 0 {
		return nil, asError(r.errs)
	}
	return s, nil
}

// parse makes the text a tree of one map.
func (r *reader) parse(text []byte) (root ast.Node, ok bool) {
	if len(text) > sizeMax {
		r.fail(place{}, "", "this is more than the %d bytes that a scenario can have", sizeMax)
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
	var bodies []ast.Node
	for _, d := range file.Docs {
		if d.Body != nil {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		r.fail(place{}, "begin with `lockbench: "+Version+"`", "the scenario is empty")
		return nil, false
	case 1:
		return bodies[0], true
	}
	r.fail(r.place(bodies[1]), "", "a file holds one scenario; here a second begins")
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
	list, ok := r.entries(root, "", "a scenario")
	if !ok {
		return
	}
	top := make(map[string]entry, len(list))
	for _, e := range list {
		top[e.key.text] = e
	}
	if !r.version(top) {
		return // what another version means is not for this one to judge
	}
	for _, e := range list {
		r.section(s, e)
	}
	for _, key := range []string{"locks", "faults"} {
		if _, ok := top[key]; !ok {
			hint := "name at least one, as `locks: [set-nx]`"
			if key == "faults" {
				hint = "if nothing is to break, say `faults: none`"
			}
			r.fail(place{}, hint, "`%s:` is missing", key)
			r.bad[key] = true
		}
	}
	// Expectations last: they name locks, wherever in the file those stand.
	if e, ok := top["expect"]; ok {
		r.expectations(s, e.value)
	}
	for _, b := range s.breaches(r.known) {
		r.breach(b)
	}
}

// version tells whether the file is for this version of lockbench.
func (r *reader) version(top map[string]entry) bool {
	e, ok := top["lockbench"]
	if !ok {
		r.fail(place{}, "begin with `lockbench: "+Version+"`", "the file does not say that it is a scenario")
		return false
	}
	w, ok := r.word(e.value, "lockbench")
	if ok && w.text != Version {
		r.fail(w.at, "this lockbench reads "+Version, "%q is no version known here", w.text)
		return false
	}
	return ok
}

// section reads one top-level key.
func (r *reader) section(s *Scenario, e entry) {
	switch key := e.key.text; key {
	case "lockbench", "expect": // read before and after the others
	case "about":
		if w, ok := r.word(e.value, key); ok {
			s.About = strings.TrimSpace(w.text)
		}
	case "shows":
		s.Shows = r.shows(e.value)
	case "locks":
		s.Locks = r.lockList(e.value)
	case "topology":
		r.topology(s, e.value)
	case "redis":
		s.Redis = r.settings(e.value, "redis")
	case "workload":
		r.workload(&s.Workload, e.value)
	case "episodes":
		scalar(r, key, e, &s.Episodes, parseCount)
	case "quiet":
		scalar(r, key, e, &s.Quiet, parseDuration)
	case "limit":
		scalar(r, key, e, &s.Limit, parseSpan)
	case "faults":
		r.faults(s, e.value)
	default:
		r.fail(e.key.at, suggest(key, topKeys, "keys"), "a scenario has no key %q", key)
	}
}

var bugID = regexp.MustCompile(`^[A-Z]+-[0-9]+$`)

// shows are ids of the bug catalogue.
func (r *reader) shows(n ast.Node) []string {
	items, _ := r.items(n, "shows", "[R-17, D-4]")
	var ids []string
	for _, item := range items {
		w, ok := r.word(item, "shows")
		if ok && !bugID.MatchString(w.text) {
			r.fail(w.at, "ids are those of docs/bugs.md, such as R-17", "%q is no id of a bug", w.text)
		}
		ids = append(ids, w.text)
	}
	return ids
}

var singleStores = []string{string(locks.Single), string(locks.Replicated), string(locks.Sentinel), string(locks.Cluster)}

// topology reads the servers of each family: `{single-store: sentinel, majority: {independent: 3}}`.
func (r *reader) topology(s *Scenario, n ast.Node) {
	families, _ := r.entries(n, "topology", "topology")
	for _, e := range families {
		switch e.key.text {
		case "single-store":
			w, ok := r.word(e.value, e.key.text)
			s.Topology.SingleStore = locks.Topology(w.text)
			if ok && !slices.Contains(singleStores, w.text) {
				r.fail(w.at, suggest(w.text, singleStores, "topologies of a single store"), "a single store has no topology %q", w.text)
			}
		case "majority":
			r.majority(s, e)
		default:
			r.fail(e.key.at, suggest(e.key.text, []string{"single-store", "majority"}, "families"), "no family of locks is named %q", e.key.text)
		}
	}
}

// majority reads `independent` or `{independent: 3}`.
func (r *reader) majority(s *Scenario, e entry) {
	const hint = "majority locks run on independent masters: `independent`, or `{independent: 3}`"
	switch e.value.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		list, _ := r.entries(e.value, "topology/majority", "majority")
		for _, m := range list {
			if m.key.text != string(locks.Independent) {
				r.fail(m.key.at, hint, "a majority lock has no topology %q", m.key.text)
				continue
			}
			scalar(r, "topology/majority/independent", m, &s.Topology.Masters, parseCount)
		}
	default:
		if w, ok := r.word(e.value, "majority"); ok && w.text != string(locks.Independent) {
			r.fail(w.at, hint, "a majority lock has no topology %q", w.text)
		}
	}
}

// settings reads keys whose values are nobody's business here.
func (r *reader) settings(n ast.Node, path string) map[string]string {
	list, _ := r.entries(n, path, path)
	m := make(map[string]string, len(list))
	for _, e := range list {
		if w, ok := r.word(e.value, e.key.text); ok {
			m[e.key.text] = w.text
		}
	}
	return m
}
