package scenarios

import (
	"fmt"
	"reflect"
	"time"

	"lockbench/nemesis"
	"lockbench/workloads"
)

// fields decodes entries into the struct that v points to. The tags of its fields are the keys, and the types of the
// fields determine the format of the values. It calls rest for other keys.
//
// The decoder of the YAML library reads 2e5 and 2.5 as int, ignores missing values, reports only one of several unknown
// keys, and gives no place to types that decode themselves.
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

// keysOf returns the tags of the struct that v points to.
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

// decode reads a value by the type of its field.
func (r *reader) decode(e entry, field reflect.Value) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
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
	case *Judgement:
		scalar(r, e, into, parseJudgement)
	case *[]string:
		*into = r.shows(e)
	case *Workload:
		r.workload(into, e)
	case *[]LockUse:
		*into = r.locks(e)
	case *[]nemesis.Step:
		*into = r.faults(e)
	case *map[string]time.Duration:
		*into = r.limits(e)
	default:
		panic(fmt.Sprintf("no scenario has a %T", into))
	}
}

// scalar parses the text of an entry.
func scalar[T any](r *reader, e entry, into *T, parse func(string) (T, *Error)) {
	if w, ok := r.text(e); ok {
		v, err := parse(w.text)
		if err != nil {
			r.add(w.at, err)
		}
		*into = v
	}
}

// option reads a value that the catalog parses.
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
