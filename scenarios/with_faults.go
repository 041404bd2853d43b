package scenarios

import (
	"regexp"
	"strings"
)

// faultsKey matches the key `faults` of a file with one key on each line, and the lines that belong to the key.
var faultsKey = regexp.MustCompile(`(?m)^faults:.*(\n([ \t#-].*|\r?)$)*`)

// WithFaults returns the scenario with other faults: steps such as "kill: master, for: 2s", the values of --fault.
func (s *Scenario) WithFaults(steps []string) (*Scenario, error) {
	text := "  - {" + strings.Join(steps, "}\n  - {") + "}\n"
	with := *s
	r := newReader("--fault")
	r.try(func() { with.Faults = r.faults(entry{path: "faults", value: r.parse([]byte(text))}) })
	if err := joined(r.errs); err != nil {
		return nil, err
	}
	if !faultsKey.Match(s.Source) {
		return nil, &Error{File: s.Name, Text: "--fault needs a scenario file with one key on each line"}
	}
	with.NoFaults = false
	with.Source = faultsKey.ReplaceAllLiteral(s.Source, []byte("faults:\n"+text))
	return &with, with.Check()
}
