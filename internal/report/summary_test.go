package report

import (
	"encoding/xml"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"lockbench/checker"
)

func TestSummary(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *Result{"sample": sample, "troubled": troubled} {
		r := make(t)
		var b strings.Builder
		if err := Summary(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, "summary-"+name+".golden.md", b.String())
	}
}

func TestSummaryStaysSmall(t *testing.T) {
	check := func(fatalf func(string, ...any), locks, text int) string {
		r := huge(locks, text)
		var b strings.Builder
		if err := Summary(&b, r); err != nil {
			fatalf("%v", err)
		}
		if b.Len() >= SummaryMax {
			fatalf("%d locks with texts of %d bytes: %d bytes", locks, text, b.Len())
		}
		if !utf8.ValidString(b.String()) {
			fatalf("%d locks with texts of %d bytes: a character was cut in two", locks, text)
		}
		return b.String()
	}
	if got := check(t.Fatalf, 3000, 500); !strings.Contains(got, "did not fit here") {
		t.Error("it does not say that something is left out")
	}
	check(t.Fatalf, 2, 300_000)
	rapid.Check(t, func(t *rapid.T) {
		check(t.Fatalf, rapid.IntRange(0, 60).Draw(t, "locks"), rapid.IntRange(0, 2000).Draw(t, "text"))
	})
}

func TestJUnit(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *Result{"sample": sample, "troubled": troubled} {
		r := make(t)
		r.Find("no-lock").Counterexample = &Counterexample{Title: "an escape \x1b[31m and ]]> and <xml>"}
		r.Locks = append(r.Locks, Lock{Lock: "broken", Error: "start redis-server: exit status 1"})
		var b strings.Builder
		if err := JUnit(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, "junit-"+name+".golden.xml", b.String())
		var back junit
		if err := xml.Unmarshal([]byte(b.String()), &back); err != nil {
			t.Errorf("it cannot be read back: %v", err)
		}
		if back.Tests != len(r.Locks) {
			t.Errorf("%d cases for %d locks", back.Tests, len(r.Locks))
		}
	}
}

func TestJUnitCases(t *testing.T) {
	r := &Result{Scenario: "s"}
	for _, c := range []struct {
		name                    string
		lock                    Lock
		failure, error, skipped bool
	}{
		{"expected violation passes", Lock{Verdict: checker.Violated, AsExpected: true}, false, false, false},
		{"unexpected verdict fails", Lock{Verdict: checker.Valid}, true, false, false},
		{"unknown is an error", Lock{Verdict: checker.Unknown}, false, true, false},
		{"expected unknown passes", Lock{Verdict: checker.Unknown, AsExpected: true}, false, false, false},
		{"unsupported is skipped", Lock{Verdict: checker.Unknown, Unsupported: "x"}, false, false, true},
		{"a broken harness is an error", Lock{Error: "x", AsExpected: true}, false, true, false},
	} {
		got := junitOf(r, &c.lock)
		if got.Failure != nil != c.failure || got.Error != nil != c.error || got.Skipped != nil != c.skipped {
			t.Errorf("%s: %+v", c.name, got)
		}
		if c.lock.Verdict == checker.Violated && c.lock.AsExpected && !strings.Contains(got.SystemOut, "violated, as expected") {
			t.Errorf("%s: the output does not say so: %q", c.name, got.SystemOut)
		}
	}
}

// hostile tries to leave a cell, a code span, a block of code, and a line.
const hostile = "x</td>\n\n<img src=x>\n```\n<img src=x>\n````\n` <img src=x> `` | \\<img src=x> \\[x](javascript:y)"

// TestSummaryOfHostileText: no text of a result becomes HTML or a link.
func TestSummaryOfHostileText(t *testing.T) {
	r := troubled(t)
	r.Scenario, r.World, r.WorldAbout, r.Again, r.Machine = hostile, hostile, hostile, hostile, hostile
	for l := range r.All() {
		l.Lock, l.Servers, l.Why, l.Expected, l.Mismatch, l.Like, l.Notes = hostile+l.Lock, hostile, hostile, hostile, hostile, hostile, []string{hostile}
		if l.Unsupported != "" {
			l.Unsupported = hostile
		}
		for i := range l.Checks {
			l.Checks[i].Note = hostile
		}
		if l.Counterexample != nil {
			l.Counterexample.Title = hostile
			l.Counterexample.Why = hostile
		}
	}
	var b strings.Builder
	if err := Summary(&b, r); err != nil {
		t.Fatal(err)
	}
	fence := ""
	link := regexp.MustCompile(`[^\\](\\\\)*\]\(`)
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		opened, isBlock := strings.CutSuffix(line, "text")
		switch {
		case fence == "" && isBlock && len(opened) > 2 && strings.Trim(opened, "`") == "":
			fence = opened
		case line == fence:
			fence = ""
		case fence != "":
		case strings.HasPrefix(line, "Again: ````` ") && strings.HasSuffix(line, " `````"): // longer than all fences in it
		case strings.Contains(line, "<") || strings.HasPrefix(line, "`") || link.MatchString(line):
			t.Errorf("HTML, code or a link: %s", line)
		}
	}
}

// TestSummaryWithoutHeaders: a run that was killed before its histories began has neither a seed nor a world.
func TestSummaryWithoutHeaders(t *testing.T) {
	var b strings.Builder
	if err := Summary(&b, &Result{Scenario: "failover", Interrupted: true, Locks: []Lock{{Lock: "set-nx", Unsupported: "stopped before it began"}}}); err != nil {
		t.Fatal(err)
	}
	if want := "# lockbench failover: undecided\n\n1 lock side by side · 0.0 s\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("it begins with %.100q, want %q", b.String(), want)
	}
}
