package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Progress shows the progress of a run. On a terminal it rewrites one line:
//
//	0:31 of ~0:46  locks 2 of 7 done · set-nx episode 2 of 3 · set-nx: redis-1 killed · 21,904 grants
//
// In a log it writes a line for each fault and for the first violation of each lock. Warnings are lines that stay.
// The caller calls Tick a few times a second. All methods may be called concurrently; after Done they do nothing.
type Progress struct {
	terminal bool
	columns  int

	mu     sync.Mutex
	w      io.Writer
	tick   Tick
	latest string
	drawn  bool // the terminal shows a line that the next one replaces
	done   bool
}

// Tick is the state of a run.
type Tick struct {
	Elapsed  time.Duration
	Expected time.Duration // of the whole run; 0 if unknown
	Locks    int
	Done     int    // locks that have been judged
	Lock     string // the one in progress that is least far; empty if none is
	Starting bool   // it has no grant yet
	Episode  int    // its current episode, from 1; 0 before the first
	Episodes int    // 0 if unknown
	Grants   int    // of all locks so far
	Violated int    // locks with an unexpected violation
}

// NewProgress makes a Progress that writes to w; see IsTerminal and TerminalWidth for terminal and columns.
func NewProgress(w io.Writer, terminal bool, columns int) *Progress {
	if columns <= 0 {
		columns = ScreenWidth
	}
	return &Progress{w: w, terminal: terminal, columns: columns}
}

// Fault shows a fault that takes effect.
func (p *Progress) Fault(lock, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = OneLine(lock + ": " + text)
	p.say(p.latest)
}

// Violation shows the first violation of a lock.
func (p *Progress) Violation(lock, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say(OneLine(lock + ": violated: " + text))
}

// Warning shows a problem of a guest in a line that stays.
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

// Tick shows the state of the run.
func (p *Progress) Tick(t Tick) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick = t
	p.draw()
}

// Done removes the line.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		p.write("\r\x1b[K")
	}
	p.drawn, p.done = false, true
}

// say writes a line to a log, or redraws the line of a terminal.
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
	// The fault gets the room that is left. The last column stays free, because some terminals begin a new line
	// after it.
	if room := p.columns - 1 - width(line) - width(" · "); p.latest != "" && room >= 10 {
		parts = slices.Insert(parts, faultAt, clip(p.latest, room))
		line = " " + clock + "  " + strings.Join(parts, " · ")
	}
	p.write("\r\x1b[K" + clip(line, p.columns-1))
	p.drawn = true
}

// where is the state of the lock that is least far.
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

// write ignores errors: a run goes on without its terminal.
func (p *Progress) write(text string) { _, _ = io.WriteString(p.w, text) }
