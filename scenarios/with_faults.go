package scenarios

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// WithFaults returns the scenario with other faults: steps such as "kill: master, for: 2s", the values of --fault.
func (s *Scenario) WithFaults(steps []string) (*Scenario, error) {
	for _, step := range steps {
		if strings.TrimSpace(step) == "" || strings.Contains(step, "\n") {
			return nil, &Error{File: "--fault", Text: "a fault is one line, such as kill: master"}
		}
	}
	lines := strings.Split(strings.TrimRight(string(s.Source), "\n"), "\n")
	from, to, ok := linesOf(s.Source, "faults")
	if !ok {
		return nil, &Error{File: s.Name, Text: "--fault needs a scenario file with one key on each line"}
	}
	text := append([]string{}, lines[:from]...)
	text = append(text, "faults:")
	first := len(text) + 1
	for _, step := range steps {
		text = append(text, "  - {"+step+"}")
	}
	text = append(text, lines[min(to, len(lines)):]...)
	with, err := Read(s.Name+".yaml", []byte(strings.Join(text, "\n")+"\n"))
	var all Errors
	if !errors.As(err, &all) {
		var one *Error
		if errors.As(err, &one) {
			all = Errors{one}
		}
	}
	for _, e := range all {
		// The error refers to the argument and not to the file that contains it.
		if n := e.Line - first; n >= 0 && n < len(steps) {
			e.File, e.Line, e.Column = "--fault", 0, 0
		}
	}
	return with, err
}

// linesOf returns the lines of a top-level key of a YAML file, up to the next key, counted from 0.
func linesOf(source []byte, key string) (from, to int, ok bool) {
	file, err := parser.ParseBytes(source, 0)
	if err != nil || len(file.Docs) == 0 {
		return 0, 0, false
	}
	top, isMap := file.Docs[0].Body.(*ast.MappingNode)
	if !isMap || top.IsFlowStyle {
		return 0, 0, false
	}
	for i, v := range top.Values {
		if v.Key.String() != key {
			continue
		}
		to = strings.Count(string(source), "\n") + 1
		if i+1 < len(top.Values) {
			to = top.Values[i+1].Key.GetToken().Position.Line - 1
		}
		return v.Key.GetToken().Position.Line - 1, to, true
	}
	return 0, 0, false
}
