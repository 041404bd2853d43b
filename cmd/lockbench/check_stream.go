package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// findingsKept is how many violations are kept of a history that is streamed: the
// others are counted.
const findingsKept = 100

// streams judges histories while they are read, one after the other.
func (j judge) streams(w, warn io.Writer, args []string) error {
	var failed []error
	worst := checker.Valid
	for _, arg := range args {
		v, err := j.stream(w, warn, arg)
		if err != nil {
			failed = append(failed, err)
		}
		worst = max(worst, v)
	}
	return exit(worst, failed)
}

// stream judges one history while it is read, and keeps of it what is open alone: for
// one that is too large to be kept, or that is still being written.
func (j judge) stream(w, warn io.Writer, file string) (checker.Verdict, error) {
	in := j.in
	if file != "-" {
		f, err := os.Open(theHistoryOr(file))
		if err != nil {
			return checker.Valid, noHistory(err)
		}
		defer f.Close()
		in = f
	}
	s, err := history.NewScanner(in, j.open)
	if err != nil {
		return checker.Valid, fmt.Errorf("read history %s: %w", file, err)
	}
	s.Forget()
	judge := checker.NewStream(s.Header)
	r := checker.Result{Name: checker.Exclusion{}.Name()}
	class := checker.NoClass
	for {
		var e history.Event
		more, err := s.Next(&e)
		if err != nil {
			return checker.Valid, fmt.Errorf("read history %s: %w", file, err)
		}
		if !more {
			break
		}
		for _, f := range judge.Add(&e) {
			r.Verdict, class = checker.Violated, max(class, f.Class)
			if r.Violations++; r.Violations <= findingsKept {
				r.Findings = append(r.Findings, f)
			}
			if !j.json {
				if _, err := fmt.Fprintf(w, "%s (%s, event %d)\n", f.Text, f.Class, f.Event); err != nil {
					return r.Verdict, err
				}
			}
		}
	}
	for _, warning := range s.Warnings {
		_, _ = fmt.Fprintf(warn, "lockbench: %s: %s\n", file, warning)
	}
	if r.Verdict == checker.Valid {
		r.Verdict, r.Why = checker.Unknown, "nothing showed while it was read; left to the judge of the whole: "+judge.Pending()
	}
	l := report.Lock{Lock: s.Header.Lock, Verdict: r.Verdict, Class: class, Why: r.Why, Checks: []checker.Result{r}}
	if !j.json {
		return l.Verdict, report.Checked(w, file, &l, nil)
	}
	line := checked{report.SchemaVersion, file, l.Lock, l.Verdict, l.Class, l.Why, s.Warnings, l.Checks}
	return l.Verdict, json.NewEncoder(w).Encode(line)
}

// theHistoryOr is the history in a folder of one lock, or what was named.
func theHistoryOr(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if one := theHistory(path); one != "" {
			return one
		}
	}
	return path
}
