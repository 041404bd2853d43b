package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	services "lockbench/internal/service/catalog"
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
			servers := serverReader{reader: r, of: first, on: s.On(first.Name)}
			switch e.key.text {
			case "topology":
				servers.topology(e)
				s.Servers[first.Name] = servers.on
			case first.Name:
				servers.settings(e)
				s.Servers[first.Name] = servers.on
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
