package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
)

// Progress shows the progress of a run. On a terminal it rewrites one line:
//
//	0:31 of ~0:46  locks 2 of 7 done · set-nx episode 2 of 3 · set-nx: redis-1 killed · 21,904 grants
//
// In a log it writes a line for each fault and for the first violation of each lock. Warnings are lines that stay.
// The caller calls Tick a few times a second, from one goroutine.
type Progress struct {
	terminal bool
	columns  int
	w        io.Writer
	tick     Tick
	latest   string
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
	News     []News // since the last tick
	Over     bool   // this is the last tick
}

// News is something that a reader wants to know at once.
type News struct {
	Lock string
	Kind NewsKind
	Text string
}

// NewsKind is a kind of news.
type NewsKind int

// The kinds of news.
const (
	Fault     NewsKind = iota // a fault took effect or was undone
	Warning                   // a guest misbehaves
	Violation                 // the first violation of a lock
)

// NewsOf returns what an event of a history tells, without the lock.
func NewsOf(e *history.Event) (n News, ok bool) {
	fault := func(text string) (News, bool) { return News{Kind: Fault, Text: text}, true }
	switch {
	case e.Facts != nil && e.Facts.Promoted != nil && e.Facts.Promoted.Node != "":
		return fault(e.Facts.Promoted.Node + " is master now")
	case e.Facts != nil && e.Facts.Warned != nil:
		return News{Kind: Warning, Text: e.Facts.Warning}, true
	case e.Process != history.Nemesis:
	case e.Phase == history.Bites:
		return fault(e.F + ": " + e.Text)
	case e.Phase == history.Healed:
		return fault("healed: " + e.F)
	case e.Phase == history.Fails && e.Step == 0: // of no step: the servers did not settle
		return fault(e.Text)
	case e.Phase == history.Fails:
		return fault("did not take effect: " + e.Text)
	}
	return News{}, false
}

// NewProgress makes a Progress that writes to w; see IsTerminal and TerminalWidth for terminal and columns.
func NewProgress(w io.Writer, terminal bool, columns int) *Progress {
	if columns <= 0 {
		columns = ScreenWidth
	}
	return &Progress{w: w, terminal: terminal, columns: columns}
}

// Tick shows the state of the run and its news. The last tick removes the line.
func (p *Progress) Tick(t Tick) {
	p.tick = t
	for _, n := range t.News {
		p.tell(n)
	}
	switch {
	case p.terminal && t.Over:
		p.write("\r\x1b[K")
	case p.terminal:
		p.draw()
	}
}

// tell writes news as a line. On a terminal only warnings have a line, and the latest fault is in the line of the run.
func (p *Progress) tell(n News) {
	var text string
	switch n.Kind {
	case Fault:
		text = OneLine(n.Lock + ": " + n.Text)
		p.latest = text
	case Violation:
		text = OneLine(n.Lock + ": violated: " + n.Text)
	case Warning:
		text = OneLine("warning: " + n.Lock + ": " + n.Text)
	}
	switch {
	case !p.terminal:
		p.write(fmt.Sprintf("%5s  %s\n", Clock(p.tick.Elapsed), text))
	case n.Kind == Warning:
		p.write("\r\x1b[K" + text + "\n")
	}
}

// draw writes the line of the run over the one before.
func (p *Progress) draw() {
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
