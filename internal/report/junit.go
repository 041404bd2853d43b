package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"lockbench/checker"
)

// The parts of junit.xml that build servers agree on.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	Failure   *junitMessage `xml:"failure"`
	Error     *junitMessage `xml:"error"`
	Skipped   *junitMessage `xml:"skipped"`
	SystemOut string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes junit.xml: a suite for each result and a case for each lock. An expected violation passes, with a
// remark in its output. An unexpected verdict is a failure; an unknown verdict and a failure of the harness are
// errors. A lock that cannot run here is skipped; if the user named it, it is an error.
func JUnit(w io.Writer, results ...*Result) error {
	all := make([]junitSuite, len(results))
	for i, r := range results {
		all[i] = suiteOf(r)
	}
	return encodeJUnit(w, all)
}

// Suite is a test suite for [JUnitSuites].
type Suite struct {
	Name  string
	Took  time.Duration
	Cases []Case
}

// Case is one test of a suite. It passed if Failed, Errored and Skipped are empty.
type Case struct {
	Name, Class              string
	Failed, Errored, Skipped string
}

// JUnitSuites writes suites as JUnit XML.
func JUnitSuites(w io.Writer, suites []Suite) error {
	said := func(text, kind string) *junitMessage {
		if text == "" {
			return nil
		}
		return &junitMessage{Message: OneLine(text), Type: kind}
	}
	all := make([]junitSuite, len(suites))
	for i, s := range suites {
		all[i] = junitSuite{Name: OneLine(s.Name), Time: inSeconds(s.Took.Seconds())}
		for _, c := range s.Cases {
			all[i].add(junitCase{
				Name: c.Name, Class: OneLine(c.Class),
				Failure: said(c.Failed, "broken"), Error: said(c.Errored, "undecided"), Skipped: said(c.Skipped, ""),
			})
		}
	}
	return encodeJUnit(w, all)
}

func encodeJUnit(w io.Writer, suites []junitSuite) error {
	all := junitSuites{Name: "lockbench", Suites: suites}
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

func suiteOf(r *Result) junitSuite {
	suite := junitSuite{Name: "lockbench " + OneLine(r.Scenario), Time: inSeconds(r.DurationS)}
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format(time.RFC3339)
	}
	for i := range r.Locks {
		suite.add(junitOf(r, &r.Locks[i]))
	}
	return suite
}

func inSeconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

// add counts a case.
func (s *junitSuite) add(c junitCase) {
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

func junitOf(r *Result, l *Lock) junitCase {
	c := junitCase{Name: l.Lock, Class: "lockbench." + r.Scenario}
	told := strings.Join(l.Counterexample.Text(), "\n")
	if told != "" {
		told = "\n" + told + "\n"
	}
	switch {
	case l.Error != "":
		c.Error = &junitMessage{Message: "the harness failed: " + OneLine(l.Error), Type: "harness", Text: l.notes()}
	case l.untested():
		c.Error = &junitMessage{Message: "not tested: " + OneLine(l.Unsupported), Type: "unsupported"}
	case l.Unsupported != "":
		c.Skipped = &junitMessage{Message: "unsupported here: " + OneLine(l.Unsupported)}
	case l.AsExpected:
		c.SystemOut = fmt.Sprintf("%s, as expected; %d of %s violated\n%s", l.Found(), l.ViolatingEpisodes,
			Plural(l.Episodes, "episode"), strings.TrimPrefix(told, "\n"))
		if also := l.also(); also != "" {
			c.SystemOut += also + "\n"
		}
		c.SystemOut += l.notes()
	case l.Verdict == checker.Unknown:
		c.Error = &junitMessage{Message: "undecided: " + first(OneLine(l.Why), "no reason given"), Type: l.Verdict.String(),
			Text: "expected " + first(l.Expected, "valid") + "\n" + l.notes()}
	default:
		text := told + l.notes()
		if r.Again != "" {
			text += "\nAgain: " + r.Again + "\n"
		}
		c.Failure = &junitMessage{Message: l.unexpected(), Type: l.Found(), Text: text}
	}
	return c
}

// notes are the notes of the lock, one a line.
func (l *Lock) notes() string {
	var b strings.Builder
	if l.Wrong {
		b.WriteString(l.Title() + "\n")
	}
	for _, note := range l.Notes {
		b.WriteString(note + "\n")
	}
	return b.String()
}
