package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"lockbench/checker"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// fields decodes pairs into the struct that v points to. The tags of its fields are the keys, and the types of the
// fields determine the format of the values. It calls rest for other keys.
//
// The decoder of the YAML library reads 2e5 and 2.5 as int, ignores missing values, reports only one of several unknown
// keys, and gives no place to types that decode themselves.
func (r *reader) fields(list pairs, v any, rest func(e pair)) {
	s := reflect.ValueOf(v).Elem()
	r.each(list, func(e pair) {
		for i := range s.NumField() {
			if tag, ok := s.Type().Field(i).Tag.Lookup("yaml"); ok && tag == e.key.text {
				r.decode(e, s.Field(i))
				return
			}
		}
		rest(e)
	})
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
func (r *reader) decode(e pair, field reflect.Value) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch into := field.Addr().Interface().(type) {
	case *string:
		*into = scalar(r, e, parseText)
	case *int:
		*into = scalar(r, e, parseCount)
	case *time.Duration:
		parse := ParseDuration
		if e.path == "limit" {
			parse = parseRunTime
		}
		*into = scalar(r, e, parse)
	case *nemesis.Range:
		*into = scalar(r, e, ParseRange)
	case *nemesis.Length:
		*into = scalar(r, e, parseLength)
	case *workloads.Event:
		*into = scalar(r, e, oneOf(nemesis.Events, "no event is named %q"))
	case *nemesis.Until:
		*into = scalar(r, e, oneOf(nemesis.Untils, "a hold does not go on until %q"))
	case *KeyNames:
		*into = scalar(r, e, oneOf([]KeyNames{Letters, Varied}, "no kind of names is called %q"))
	case *Point:
		*into = scalar(r, e, oneOf(names(checker.Points(), pointName), "no point is named %q"))
	case *locks.Mode:
		*into = scalar(r, e, parseMode)
	case *Rate:
		*into = scalar(r, e, parseRate)
	case *Judgement:
		*into = scalar(r, e, parseJudgement)
	case *[]string:
		*into = r.shows(e)
	case *Workload:
		r.workload(into, e)
	case *[]LockUse:
		*into = (&lockReader{reader: r}).locks(e)
	case *[]nemesis.Step:
		*into = r.faults(e)
	case *map[string]time.Duration:
		*into = r.limits(e)
	default:
		panic(fmt.Sprintf("no scenario has a %T", into))
	}
}

// scalar parses the text of a value.
func scalar[T any](r *reader, e pair, parse func(string) (T, error)) T {
	w := r.text(e)
	v, err := parse(w.text)
	var wrong *Error
	if errors.As(err, &wrong) {
		r.fail(w.at, wrong.Hint, "%s", wrong.Text)
	}
	return v
}

// option reads a value that the catalog parses.
func (r *reader) option(e pair, into *map[string]string) word {
	w := r.text(e)
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[e.key.text] = w.text
	return w
}
