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
)

// sizeMax bounds a scenario in bytes; a person writes a few thousand. It is not larger because
// what the reader of YAML takes grows with the square of some texts: a megabyte of opening
// brackets would take it minutes and terabytes.
const sizeMax = 16 << 10

// Read reads a scenario. The name is that of its file; errors show it.
func Read(name string, data []byte, known Catalogs) (*Scenario, error) {
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	r := newReader(name, known)
	r.yaml = true
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
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	switch len(docs) {
	case 0:
		r.fail(place{}, "begin with `lockbench: "+Version+"`", "the scenario is empty")
		return nil, false
	case 1:
		return docs[0].Body, true
	}
	r.fail(r.place(docs[1].Body), "", "a file holds one scenario; here a second begins")
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
		if key := e.key.text; key != "lockbench" && key != "expect" {
			known := slices.Concat([]string{"lockbench"}, keysOf(s), []string{"expect"})
			r.unknown(e.key, known, "keys", "a scenario has no key %q", key)
		}
	})
	r.lasts(top.of("limit"), s.Limit)
	r.needs(top, "locks", "name at least one, as `locks: [set-nx]`")
	r.needs(top, "faults", "if nothing is to break, say `faults: none`")
	s.NoFaults = is(top.of("faults").value, "none")
	// Expectations last: they name locks, wherever in the file those stand.
	if top.has("expect") {
		s.Expect = r.expectations(top.of("expect"))
	}
	for _, b := range s.breaches(r.known) {
		r.breach(b)
	}
}

func (r *reader) needs(top entries, key, hint string) {
	if !top.has(key) {
		r.fail(place{}, hint, "`%s:` is missing", key)
		r.bad[key] = true
	}
}

// version tells whether the file is for this version of lockbench.
func (r *reader) version(top entries) bool {
	if !top.has("lockbench") {
		r.fail(place{}, "begin with `lockbench: "+Version+"`", "the file does not say that it is a scenario")
		return false
	}
	w, ok := r.text(top.of("lockbench"))
	if ok && w.text != Version {
		r.fail(w.at, "this lockbench reads "+Version, "%q is no version known here", w.text)
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

var singleStores = []locks.Topology{locks.Single, locks.Replicated, locks.Sentinel, locks.Cluster}

// topology reads the servers of each family: `{single-store: sentinel, majority: {independent: 3}}`.
func (r *reader) topology(t *Topology, e entry) {
	families, _ := r.entries(e.value, e.path, "topology")
	for _, e := range families {
		switch catalog.Family(e.key.text) {
		case catalog.SingleStore:
			scalar(r, e, &t.SingleStore, oneOf(singleStores, "topologies of a single store", "a single store has no topology %q"))
		case catalog.Majority:
			r.majority(t, e)
		default:
			r.unknown(e.key, []string{string(catalog.SingleStore), string(catalog.Majority)}, "families", "no family of locks is named %q", e.key.text)
		}
	}
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
