package report

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestProgressOnTerminal(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, true, 90)
	p.Tick(Tick{Elapsed: time.Second, Expected: 46 * time.Second})
	p.Tick(Tick{News: []News{{"set-nx", Fault, "redis-1 killed,\x1b[2J sentinels voting"}, {"no-lock", Violation, "two hold a"}}})
	p.Tick(Tick{Elapsed: 31 * time.Second, Expected: 46 * time.Second, Locks: 7, Done: 2, Lock: "redlock", Episode: 2, Episodes: 3, Grants: 21904})
	lines := strings.Split(b.String(), "\r\x1b[K")
	last := lines[len(lines)-1]
	// A violation that was expected is no news.
	if want := regexp.MustCompile(`^ 0:31 of ~0:46  locks 2 of 7 done · redlock episode 2 of 3 · set-nx: red.*… · 21,904 grants$`); !want.MatchString(last) {
		t.Errorf("got %q, want %s", last, want)
	}
	for _, line := range lines {
		if width(line) >= 90 {
			t.Errorf("%d wide, and the line would break: %q", width(line), line)
		}
	}
	if strings.Contains(b.String(), "\n") {
		t.Error("more than one line")
	}
	p.Tick(Tick{Elapsed: time.Minute, Over: true})
	if !strings.HasSuffix(b.String(), "\r\x1b[K") {
		t.Error("the line was left on the screen")
	}
}

// TestProgressWarning: on a terminal, a warning stands above the line that is written over.
func TestProgressWarning(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, true, 90)
	p.Tick(Tick{Elapsed: time.Second})
	b.Reset()
	p.Tick(Tick{Elapsed: time.Second, News: []News{{"mine", Warning, "client 1: it says\x1b[2J"}}})
	if got, want := b.String(), "\r\x1b[Kwarning: mine: client 1: it says"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\n\r\x1b[K 0:01  ") ||
		strings.Contains(got, "\x1b[2J") {
		t.Errorf("got %q, want it to begin with %q and to end with the line of the run", got, want)
	}
}

func TestProgressSaysWhereTheRunIs(t *testing.T) {
	for want, tick := range map[string]Tick{
		" 0:00  locks 0 of 2 done · set-nx starting servers":                     {Locks: 2, Lock: "set-nx", Starting: true},
		" 0:02  locks 0 of 2 done · set-nx starting servers · 120 grants":        {Elapsed: 2 * time.Second, Locks: 2, Lock: "set-nx", Starting: true, Grants: 120},
		" 0:09 of ~1:10  locks 1 of 2 done · set-nx episode 1 of 3 · 120 grants": {Elapsed: 9 * time.Second, Expected: 70 * time.Second, Locks: 2, Done: 1, Lock: "set-nx", Episode: 1, Episodes: 3, Grants: 120},
		" 0:09  mine episode 4 · 1 grants · 1 violated ✗":                        {Elapsed: 9 * time.Second, Locks: 1, Lock: "mine", Episode: 4, Grants: 1, Violated: 1},
		" 0:09  redlock/no…try=never episode 1 of 3":                             {Elapsed: 9 * time.Second, Locks: 1, Lock: "redlock/nodes=5,retry=never", Episode: 1, Episodes: 3},
		" 0:09 of ~0:09  locks 2 of 2 done · 120 grants":                         {Elapsed: 9 * time.Second, Expected: 9 * time.Second, Locks: 2, Done: 2, Grants: 120},
	} {
		var b strings.Builder
		NewProgress(&b, true, 100).Tick(tick)
		if got := strings.TrimPrefix(b.String(), "\r\x1b[K"); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestProgressElsewhere(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, false, 0)
	p.Tick(Tick{Elapsed: 2 * time.Second, Episode: 1, Episodes: 3, News: []News{
		{"set-nx", Fault, "kill: redis-1\n(master)"}, {"set-nx", Violation, "two hold a"}, {"set-del", Violation, "two hold b"},
	}})
	p.Tick(Tick{Elapsed: 72 * time.Second, Episode: 2, Episodes: 3, Over: true, News: []News{{"mine", Warning, "client 1: it says\n\"OK\""}}})
	want := ` 0:02  set-nx: kill: redis-1 (master)
 0:02  set-nx: violated: two hold a
 0:02  set-del: violated: two hold b
 1:12  warning: mine: client 1: it says "OK"
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
