package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"lockbench/nemesis"
	"lockbench/workloads"
)

// entry is a key with its value.
type entry struct {
	key   word
	path  string // of the value, such as "faults/0/hold"
	value ast.Node
	// part stands for the value where that is no node: `2s` in `set-nx/ttl=2s`.
	part *word
}

// entries are the keys of one map, in the order of the file.
type entries []entry

// of is the entry of a key; without a key if there is none.
func (list entries) of(key string) entry {
	e, _ := find(list, func(e entry) string { return e.key.text }, key)
	return e
}

// has tells whether a key is there.
func (list entries) has(key string) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.key.text == key })
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "/" + key
}

func isMap(n ast.Node) bool {
	return n != nil && (n.Type() == ast.MappingType || n.Type() == ast.MappingValueType)
}

// entries are the keys of a map, each once and with text for a name. The path is
// what stands in front of their names.
func (r *reader) entries(n ast.Node, path, what string) (entries, bool) {
	if !isMap(n) {
		if !r.odd(n) {
			r.fail(r.place(n), "", "%s takes keys with values", what)
		}
		return nil, false
	}
	var list entries
	for pair := n.(ast.MapNode).MapRange(); pair.Next(); {
		if pair.Key().IsMergeKey() {
			r.fail(r.place(pair.Key()), "write its keys here", "scenarios have no merge keys")
			continue
		}
		key, ok := r.word(pair.Key(), "a key")
		switch {
		case !ok:
		case list.has(key.text):
			r.fail(key.at, fmt.Sprintf("the first is in line %d", list.of(key.text).key.at.line), "%q is given twice", key.text)
		default:
			e := entry{key: key, path: join(path, key.text), value: pair.Value()}
			r.where[e.path] = r.place(e.value)
			list = append(list, e)
		}
	}
	return list, true
}

// items are the elements of a list; in what is said of one it is called as given.
func (r *reader) items(e entry, called, example string) (list []entry, ok bool) {
	s, ok := e.value.(*ast.SequenceNode)
	if !ok {
		if !r.odd(e.value) {
			r.fail(r.place(e.value), "for example "+example, "%s takes a list", e.key.text)
		}
		return nil, false
	}
	for i, n := range s.Values {
		item := entry{key: word{text: called}, path: join(e.path, strconv.Itoa(i)), value: n}
		r.where[item.path] = r.place(n)
		list = append(list, item)
	}
	return list, true
}

// text is the value of an entry that is one word or text.
func (r *reader) text(e entry) (word, bool) {
	if e.part != nil {
		return *e.part, true
	}
	return r.word(e.value, e.key.text)
}

// scalar reads the text of an entry with parse.
func scalar[T any](r *reader, e entry, into *T, parse func(string) (T, *Error)) bool {
	w, ok := r.text(e)
	if ok {
		v, err := parse(w.text)
		if err == nil {
			*into = v
			return true
		}
		r.add(w.at, err)
	}
	r.bad[e.path] = true
	return false
}

// lasts tells whether a time that was read is more than none.
func (r *reader) lasts(e entry, d time.Duration) bool {
	if d == 0 && e.value != nil && !r.bad[e.path] {
		w, _ := r.text(e)
		r.fail(w.at, "", "%s is no time at all", w.text)
		r.bad[e.path] = true
	}
	return !r.bad[e.path]
}

// option reads a value that is nobody's business here.
func (r *reader) option(e entry, into *map[string]string) (word, bool) {
	w, ok := r.text(e)
	if ok && *into == nil {
		*into = map[string]string{}
	}
	if ok {
		(*into)[e.key.text] = w.text
	}
	return w, ok
}

// fields decodes entries into the struct that v points to: the tags of its fields are
// the keys, and the types say how the values are read. What other keys mean, rest knows.
//
// The YAML library's own decoder stops at the first key that it does not know and at
// the first value that it cannot read. A person who mends a file wants to hear of all.
func (r *reader) fields(list entries, v any, rest func(e entry)) {
	s := reflect.ValueOf(v).Elem()
	for _, e := range list {
		known := false
		for i := range s.NumField() {
			if tag, ok := s.Type().Field(i).Tag.Lookup("yaml"); ok && tag == e.key.text {
				known = true
				r.decode(e, s.Field(i))
			}
		}
		if !known {
			rest(e)
		}
	}
}

// keysOf are the tags of the struct that v points to.
func keysOf(v any) []string {
	var keys []string
	t := reflect.TypeOf(v).Elem()
	for i := range t.NumField() {
		if tag, ok := t.Field(i).Tag.Lookup("yaml"); ok {
			keys = append(keys, tag)
		}
	}
	return keys
}

// decode reads a value by the type of the field that it is for.
func (r *reader) decode(e entry, field reflect.Value) {
	if field.Kind() == reflect.Pointer {
		to := reflect.New(field.Type().Elem())
		if r.decode(e, to.Elem()); !r.bad[e.path] {
			field.Set(to)
		}
		return
	}
	switch into := field.Addr().Interface().(type) {
	case *string:
		scalar(r, e, into, parseText)
	case *int:
		scalar(r, e, into, parseCount)
	case *time.Duration:
		parse := parseDuration
		if e.path == "limit" {
			parse = parseRunTime
		}
		scalar(r, e, into, parse)
	case *nemesis.Range:
		scalar(r, e, into, parseRange)
	case *workloads.Event:
		scalar(r, e, into, oneOf(nemesis.Events, "events", "no event is named %q"))
	case *Rate:
		scalar(r, e, into, parseRate)
	case *[]string:
		*into = r.shows(e)
	case *Workload:
		r.workload(into, e)
	case *[]LockUse:
		*into = r.locks(e)
	case *[]nemesis.Step:
		*into = r.faults(e)
	case *Judgement:
		if w, ok := r.text(e); ok {
			*into = r.judgement(w)
		}
	case *map[string]time.Duration:
		*into = r.limits(e)
	default:
		panic(fmt.Sprintf("nothing reads a %T", into))
	}
}
