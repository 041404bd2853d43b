package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Progress tells a person how a run goes: on a terminal in one line that is
// written over again and again,
//
//	0:31 of ~0:46  locks 2 of 7 done · set-nx episode 2 of 3 · set-nx: redis-1 killed · 21,904 grants
//
// elsewhere (a log, a build server) in one plain line for each fault and for the
// first violation of a lock. Warnings are lines that stay, on a terminal too. It has no goroutine and no clock of
// its own: whoever runs the locks calls Tick a few times a second. All methods may
// be called from several goroutines at once, and after Done do nothing.
type Progress struct {
	terminal bool
	columns  int

	mu       sync.Mutex
	w        io.Writer
	tick     Tick
	latest   string
	violated map[string]bool
	drawn    bool // a line stands on the terminal that is to be written over
	done     bool
}

// Tick is where a run stands.
type Tick struct {
	Elapsed  time.Duration
	Expected time.Duration // of the whole run; 0 if nobody can tell
	Locks    int
	Done     int    // locks that have been judged
	Lock     string // of those under way the one that is least far; empty if none is
	Starting bool   // it was not granted yet
	Episode  int    // of it, from 1; 0 before the first
	Episodes int    // 0 if nobody can tell
	Grants   int    // of all locks so far
	Violated int    // locks that broke and were not expected to
}

// NewProgress makes a Progress that writes to w. terminal and columns say what w
// is; see IsTerminal and TerminalWidth.
func NewProgress(w io.Writer, terminal bool, columns int) *Progress {
	if columns <= 0 {
		columns = ScreenWidth
	}
	return &Progress{w: w, terminal: terminal, columns: columns,
		violated: map[string]bool{}}
}

// Fault tells what is being done to a lock's servers or clients.
func (p *Progress) Fault(lock, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = OneLine(lock + ": " + text)
	p.say(p.latest)
}

// Violation tells that a lock broke. Its first time is news.
func (p *Progress) Violation(lock, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := p.violated[lock]
	p.violated[lock] = true
	if !again {
		p.say(OneLine(lock + ": violated: " + text))
	}
}

// Warning tells what is wrong with a lock's guest, in a line that stays.
func (p *Progress) Warning(lock, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text = OneLine("warning: " + lock + ": " + text)
	if !p.terminal {
		p.say(text)
		return
	}
	if !p.done {
		p.write("\r\x1b[K" + text + "\n")
		p.draw()
	}
}

// Tick tells how far the run has come.
func (p *Progress) Tick(t Tick) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick = t
	p.draw()
}

// Done takes the line away, so that what comes next begins on a clean one.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		p.write("\r\x1b[K")
	}
	p.drawn, p.done = false, true
}

// say writes a plain line where lines stay, and redraws where they do not.
func (p *Progress) say(text string) {
	if p.terminal {
		p.draw()
		return
	}
	if !p.done {
		p.write(fmt.Sprintf("%5s  %s\n", Clock(p.tick.Elapsed), text))
	}
}

func (p *Progress) draw() {
	if !p.terminal || p.done {
		return
	}
	t := p.tick
	clock := Clock(t.Elapsed)
	if t.Expected > 0 {
		clock += " of ~" + Clock(t.Expected)
	}
	var parts []string
	if t.Locks > 1 {
		parts = append(parts, fmt.Sprintf("locks %d of %d done", t.Done, t.Locks))
	}
	if where := t.where(); where != "" {
		parts = append(parts, where)
	}
	faultAt := len(parts)
	if t.Grants > 0 {
		parts = append(parts, Count(t.Grants)+" grants")
	}
	if t.Violated > 0 {
		parts = append(parts, Count(t.Violated)+" violated "+markUnexpected)
	}
	line := " " + clock + "  " + strings.Join(parts, " · ")
	// The fault gets what room is left: the figures are what one looks for. The last
	// column stays free, since writing there makes some terminals begin a new line.
	if room := p.columns - 1 - width(line) - width(" · "); p.latest != "" && room >= 10 {
		parts = slices.Insert(parts, faultAt, clip(p.latest, room))
		line = " " + clock + "  " + strings.Join(parts, " · ")
	}
	p.write("\r\x1b[K" + clip(line, p.columns-1))
	p.drawn = true
}

// where is how far the lock is that is least far.
func (t Tick) where() string {
	var at string
	switch {
	case t.Starting:
		at = "starting servers"
	case t.Episode > 0 && t.Episodes > 0:
		at = fmt.Sprintf("episode %d of %d", t.Episode, t.Episodes)
	case t.Episode > 0:
		at = fmt.Sprintf("episode %d", t.Episode)
	}
	if at == "" || t.Lock == "" {
		return at
	}
	const nameMax = 20
	return clipMiddle(OneLine(t.Lock), nameMax) + " " + at
}

// write is best effort: a terminal that went away is no reason to end a run.
func (p *Progress) write(text string) { _, _ = io.WriteString(p.w, text) }
