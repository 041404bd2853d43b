package scenarios

import (
	"regexp"
	"strings"
)

// faultsKey matches the key `faults` of a file with one key on each line, and the lines that belong to the key.
var faultsKey = regexp.MustCompile(`(?m)^faults:.*(\n([ \t#-].*|\r?)$)*`)

// pointKey matches the key `point`.
var pointKey = regexp.MustCompile(`(?m)^point:.*\n`)

// WithFaults returns the scenario with other faults, and without its point, which is that of its own faults: steps such as "kill: master, for: 2s", the values of --fault.
func (s *Scenario) WithFaults(steps []string) (*Scenario, error) {
	text := "  - {" + strings.Join(steps, "}\n  - {") + "}\n"
	with := *s
	r := newReader("--fault")
	r.try(func() { with.Faults = r.faults(pair{path: "faults", value: r.parse([]byte(text))}) })
	if err := joined(r.errs); err != nil {
		return nil, err
	}
	if !faultsKey.Match(s.Source) {
		return nil, &Error{File: s.Name, Text: "--fault needs a scenario file with one key on each line"}
	}
	with.NoFaults, with.Point = false, ""
	with.Source = pointKey.ReplaceAllLiteral(s.Source, nil)
	with.Source = faultsKey.ReplaceAllLiteral(with.Source, []byte("faults:\n"+text))
	return &with, with.Check()
}
