package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"lockbench/checker"
)

// junit is junit.xml, with the parts that build servers agree on.
type junit struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	counted
	Suites []Suite `xml:"testsuite"`
}

// counted are the numbers of cases by outcome.
type counted struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

// Suite is a test suite of junit.xml.
type Suite struct {
	Name string `xml:"name,attr"`
	counted
	Time      string `xml:"time,attr"`
	Timestamp string `xml:"timestamp,attr,omitempty"`
	Cases     []Case `xml:"testcase"`
}

// Case is one test of a suite. It passed if Failure, Error and Skipped are nil.
type Case struct {
	Name      string       `xml:"name,attr"`
	Class     string       `xml:"classname,attr"`
	Failure   *CaseMessage `xml:"failure"`
	Error     *CaseMessage `xml:"error"`
	Skipped   *CaseMessage `xml:"skipped"`
	SystemOut string       `xml:"system-out,omitempty"`
}

// CaseMessage is the reason for the outcome of a case.
type CaseMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes junit.xml: a suite for each result and a case for each lock. An expected violation passes, with a
// remark in its output. An unexpected verdict is a failure; an unknown verdict and a failure of the harness are
// errors. A lock that cannot run here is skipped; if the user named it, it is an error.
func JUnit(w io.Writer, results ...*Result) error {
	all := make([]Suite, len(results))
	for i, r := range results {
		all[i] = suiteOf(r)
	}
	return JUnitSuites(w, all)
}

// JUnitSuites writes suites as junit.xml.
func JUnitSuites(w io.Writer, suites []Suite) error {
	all := junit{Name: "lockbench", Suites: suites}
	for _, suite := range suites {
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Skipped += suite.Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// NewSuite makes a suite without cases that took some seconds.
func NewSuite(name string, seconds float64) Suite {
	return Suite{Name: OneLine(name), Time: strconv.FormatFloat(seconds, 'f', 3, 64)}
}

func suiteOf(r *Result) Suite {
	suite := NewSuite("lockbench "+r.Scenario, r.DurationS)
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format(time.RFC3339)
	}
	for i := range r.Locks {
		suite.Add(junitOf(r, &r.Locks[i]))
	}
	return suite
}

// Add adds a case.
func (s *Suite) Add(c Case) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func junitOf(r *Result, l *Lock) Case {
	c := Case{Name: l.Lock, Class: "lockbench." + r.Scenario}
	notes := ""
	if l.Wrong {
		notes = l.Title() + "\n"
	}
	for _, note := range l.Notes {
		notes += note + "\n"
	}
	told := strings.Join(l.Counterexample.Text(), "\n")
	if told != "" {
		told = "\n" + told + "\n"
	}
	switch {
	case l.Error != "":
		c.Error = &CaseMessage{Message: "the harness failed: " + OneLine(l.Error), Type: "harness", Text: notes}
	case l.untested():
		c.Error = &CaseMessage{Message: "not tested: " + OneLine(l.Unsupported), Type: "unsupported"}
	case l.Unsupported != "":
		c.Skipped = &CaseMessage{Message: "unsupported here: " + OneLine(l.Unsupported)}
	case l.AsExpected:
		c.SystemOut = fmt.Sprintf("%s, as expected; %d of %s violated\n%s", l.Found(), l.ViolatingEpisodes,
			Plural(l.Episodes, "episode"), strings.TrimPrefix(told, "\n"))
		if also := l.also(); also != "" {
			c.SystemOut += also + "\n"
		}
		c.SystemOut += notes
	case l.Verdict == checker.Unknown:
		c.Error = &CaseMessage{Message: "undecided: " + cmp.Or(OneLine(l.Why), "no reason given"), Type: l.Verdict.String(),
			Text: "expected " + cmp.Or(l.Expected, "valid") + "\n" + notes}
	default:
		text := told + notes
		if r.Again != "" {
			text += "\nAgain: " + r.Again + "\n"
		}
		c.Failure = &CaseMessage{Message: l.unexpected(), Type: l.Found(), Text: text}
	}
	return c
}
