package conform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"lockbench/internal/report"
	"lockbench/locks/locktest"
)

// schema is the version of a report as JSON. Fields are added, and never renamed or removed.
const schema = 1

// Report is the result for a lock.
type Report struct {
	Schema     int    `json:"schema"`
	Lock       string `json:"lock"`
	Call       string `json:"call,omitempty"`    // the option call, if it was given
	Version    string `json:"version,omitempty"` // of the library, as its guest reports it
	World      string `json:"world"`
	Topologies []On   `json:"topologies"`
	// Notes are mistakes of a guest's clients that are not part of the rules.
	Notes []string `json:"notes,omitempty"`
}

// On is the result on one topology.
type On struct {
	Topology  string `json:"topology"`
	LeftOut   string `json:"left_out,omitempty"` // why nothing was asked on it
	Kept      int    `json:"kept"`
	Broken    int    `json:"broken"`
	Undecided int    `json:"undecided"`
	NotAsked  int    `json:"not_asked"`
	Rules     []Rule `json:"rules"`
}

// Rule is the result of one rule.
type Rule struct {
	Rule   string  `json:"rule"`
	About  string  `json:"about"`
	Result string  `json:"result"`
	Why    string  `json:"why,omitempty"`
	TookS  float64 `json:"took_s"`
}

// The values of Rule.Result.
const (
	Kept          = "kept"
	Broken        = "broken"
	Undecided     = "undecided"
	NotApplicable = "n/a"
)

// add adds a result.
func (on *On) add(r locktest.Result) Rule {
	rule := Rule{Rule: r.Rule.Name, About: r.Rule.About, Result: Kept, TookS: r.Took.Seconds()}
	switch {
	case r.Err != nil:
		rule.Result, rule.Why = Broken, report.OneLine(r.Err.Error())
		on.Broken++
	case r.Undecided != nil:
		rule.Result, rule.Why = Undecided, report.OneLine(r.Undecided.Error())
		on.Undecided++
	case r.NA != "":
		rule.Result, rule.Why = NotApplicable, r.NA
		on.NotAsked++
	default:
		on.Kept++
	}
	on.Rules = append(on.Rules, rule)
	return rule
}

// ExitCode returns 0 if every rule was kept, and else that of the worst result.
func (r *Report) ExitCode() int {
	code := report.ExitExpected
	for _, on := range r.Topologies {
		switch {
		case on.Broken > 0:
			code = report.Worst(code, report.ExitUnexpected)
		case on.Undecided > 0:
			code = report.Worst(code, report.ExitUnknown)
		}
	}
	return code
}

// Print prints the results on one topology in lines of a width: broken rules first, and the names of the rules that do not apply.
func (r *Report) Print(w io.Writer, on *On, width int) {
	if on.LeftOut != "" {
		_, _ = fmt.Fprintf(w, "%s on %s, world %s: left out, %s\n\n", r.Lock, on.Topology, r.World, on.LeftOut)
		return
	}
	_, _ = fmt.Fprintf(w, "%s on %s, world %s\n", r.Lock, on.Topology, r.World)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var notApplicable []string
	for _, result := range []string{Broken, Undecided, Kept, NotApplicable} {
		for _, rule := range on.Rules {
			if rule.Result != result {
				continue
			}
			if result == NotApplicable {
				notApplicable = append(notApplicable, rule.Rule)
				continue
			}
			word := result
			if word == Broken {
				word = "BROKEN"
			}
			_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", rule.Rule, word, report.Exact(rule.TookS), cmp.Or(rule.Why, rule.About))
		}
	}
	_ = table.Flush()
	if len(notApplicable) > 0 {
		text := "not applicable (--json has the reasons): " + strings.Join(notApplicable, ", ")
		_, _ = fmt.Fprintln(w, "  "+report.Wrap(text, 2, width))
	}
	_, _ = fmt.Fprintf(w, "%d kept, %d broken, %d undecided, %d not asked\n\n", on.Kept, on.Broken, on.Undecided, on.NotAsked)
}

// JSON writes the report.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// JUnit writes the report as JUnit XML, one suite for each topology.
func (r *Report) JUnit(w io.Writer) error { return report.JUnitSuites(w, r.suites()) }

func (r *Report) suites() []report.Suite {
	var suites []report.Suite
	for _, on := range r.Topologies {
		rules := on.Rules
		if on.LeftOut != "" {
			rules = []Rule{{Rule: r.Lock, Result: NotApplicable, Why: on.LeftOut}}
		}
		took := 0.0
		var cases []report.Case
		for _, rule := range rules {
			took += rule.TookS
			c := report.Case{Name: rule.Rule, Class: report.OneLine("lockbench.conform." + on.Topology)}
			why := &report.CaseMessage{Message: report.OneLine(rule.Why)}
			switch rule.Result {
			case Broken:
				why.Type, c.Failure = Broken, why
			case Undecided:
				why.Type, c.Error = Undecided, why
			case NotApplicable:
				c.Skipped = why
			}
			cases = append(cases, c)
		}
		suite := report.NewSuite(fmt.Sprintf("lockbench conform %s on %s", r.Lock, on.Topology), took)
		for _, c := range cases {
			suite.Add(c)
		}
		suites = append(suites, suite)
	}
	return suites
}
