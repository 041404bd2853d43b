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

// JUnit writes junit.xml: one case for each lock. What a build server asks is not
// whether locks broke but whether they did as expected, so a violation that the
// scenario expects passes, and says so in its output. An unexpected verdict fails.
// A verdict that could not be reached is an error, for nothing was tested, and so
// is a failure of the harness; a lock that cannot run here is skipped, unless somebody
// asked for it by name.
func JUnit(w io.Writer, r *Result, stories Stories) error {
	return JUnitAll(w, []*Result{r}, stories)
}

// JUnitAll writes one junit.xml for several results, one suite each, with the stories of
// each, or without any.
func JUnitAll(w io.Writer, results []*Result, stories ...Stories) error {
	all := junitSuites{Name: "lockbench"}
	for i, r := range results {
		var told Stories
		if len(stories) > 0 {
			told = stories[i]
		}
		suite := suiteOf(r, told)
		all.Suites = append(all.Suites, suite)
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

func suiteOf(r *Result, stories Stories) junitSuite {
	suite := junitSuite{Name: "lockbench " + oneLine(r.Scenario), Time: strconv.FormatFloat(r.DurationS, 'f', 3, 64)}
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format(time.RFC3339)
	}
	for i := range r.Locks {
		c := junitOf(r, &r.Locks[i], stories[r.Locks[i].Lock])
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}

func junitOf(r *Result, l *Lock, story []string) junitCase {
	c := junitCase{Name: l.Lock, Class: "lockbench." + r.Scenario}
	told := strings.Join(story, "\n")
	if told != "" {
		told = "\n" + told + "\n"
	}
	switch {
	case l.Error != "":
		c.Error = &junitMessage{Message: "the harness failed: " + oneLine(l.Error), Type: "harness"}
	case l.untested():
		c.Error = &junitMessage{Message: "not tested: " + oneLine(l.Unsupported), Type: "unsupported"}
	case l.Unsupported != "":
		c.Skipped = &junitMessage{Message: "unsupported here: " + oneLine(l.Unsupported)}
	case l.AsExpected:
		c.SystemOut = fmt.Sprintf("%s, as expected; %d of %s violated\n%s", l.Found(), l.ViolatingEpisodes,
			plural(l.Episodes, "episode"), strings.TrimPrefix(told, "\n"))
		if also := l.also(); also != "" {
			c.SystemOut += also + "\n"
		}
	case l.Verdict == checker.Unknown:
		c.Error = &junitMessage{Message: "undecided: " + first(oneLine(l.Why), "no reason given"), Type: l.Verdict.String(),
			Text: "expected " + first(l.Expected, "valid") + "\n"}
	default:
		text := told
		if r.Again != "" {
			text += "\nAgain: " + r.Again + "\n"
		}
		c.Failure = &junitMessage{Message: l.unexpected(), Type: l.Found(), Text: text}
	}
	return c
}
