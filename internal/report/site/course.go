package site

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/locks"
)

// course is how one lock of a run goes on, from its history as it grows.
type course struct {
	name   string
	folder string // below the results folder
	file   fs.File
	follow *history.Follower

	events  int
	at      time.Duration // of the last event
	heard   time.Time     // when it came
	episode int
	quiet   bool
	grants  series
	refused int
	unknown int
	faults  []struck
	holds   []held          // that ended, of the last while
	dropped time.Duration   // until when there were more holds than are kept
	open    map[string]held // by session
	settled bool            // an episode is over, and what it did can be judged

	judged  int    // events, when it was judged last
	found   string // violated double-grant, so far
	look    string
	part    string // its story and drawings, as a part of a page
	version int    // of the part
	trouble string
}

// struck is a fault that was seen.
type struck struct {
	step        int
	name, text  string
	phase       string
	begins, end time.Duration // end is 0 as long as it goes on
}

// held is a time in which a client took a lock for its own.
type held struct {
	client   int32
	key      string
	from, to time.Duration // to is 0 as long as it goes on
}

const (
	// windowLength is how far back the holds are drawn, and holdsMost how many, as in a
	// report. A lock with more holds has a shorter window.
	windowLength = 10 * time.Second
	holdsMost    = 1500
)

// more reads what was written since.
func (c *course) more(now time.Time) {
	if c.trouble != "" {
		return
	}
	before := c.events
	if err := c.follow.More(c.add); err != nil {
		c.trouble = report.OneLine(err.Error())
	}
	if c.events > before {
		c.heard = now
	}
	c.forget()
}

// forget drops the holds that are not drawn any more.
func (c *course) forget() {
	from := 0
	for from < len(c.holds) && c.holds[from].to < c.at-windowLength {
		from++
	}
	if more := len(c.holds) - holdsMost; more > from {
		from, c.dropped = more, c.holds[more-1].to // they are in the order of their ends
	}
	c.holds = append(c.holds[:0], c.holds[from:]...)
}

func (c *course) add(e *history.Event) {
	c.events++
	c.at = e.Time
	switch {
	case e.Process == history.Probe:
		c.probed(e)
		return
	case e.Process == history.Nemesis:
		c.strikes(e)
		return
	case e.F == history.Died:
		for name, h := range c.open {
			if h.client == e.Client {
				c.end(name, e.Time)
			}
		}
		return
	case e.F == history.Lost, e.F == history.Release && e.Type == history.Invoke:
		c.end(e.Session, e.Time)
		return
	case e.F != history.Acquire:
		return
	}
	switch e.Type {
	case history.Invoke:
		key := e.Key
		if key == "" && len(e.Keys) > 0 {
			key = e.Keys[0]
		}
		c.open[e.Session] = held{client: e.Client, key: key}
	case history.OK:
		c.grants.add(e.Time)
		if h, asked := c.open[e.Session]; asked {
			h.from = e.Time
			c.open[e.Session] = h
		}
	case history.Fail:
		c.refused++
		delete(c.open, e.Session)
	case history.Info:
		c.unknown++
		delete(c.open, e.Session)
	}
}

// end ends a hold.
func (c *course) end(session string, at time.Duration) {
	if h, ok := c.open[session]; ok {
		if delete(c.open, session); h.from > 0 {
			h.to = at
			c.holds = append(c.holds, h)
		}
	}
}

func (c *course) probed(e *history.Event) {
	if e.Facts == nil {
		return
	}
	if f := e.Facts.Episode; f != nil {
		c.settled = c.settled || c.episode > 0
		c.episode, c.quiet = f.Number, false
	}
	if quiet := e.Facts.Quiet; quiet != "" {
		c.quiet = quiet == history.QuietBegins
		c.settled = c.settled || c.quiet
	}
}

func (c *course) strikes(e *history.Event) {
	at := -1
	for i := range c.faults {
		if f := &c.faults[i]; f.step == e.Step && f.name == e.F && f.end == 0 {
			at = i
		}
	}
	if at < 0 {
		if e.Phase != history.Begins && e.Phase != history.Bites && e.Phase != history.Fails {
			return
		}
		at = len(c.faults)
		c.faults = append(c.faults, struck{step: e.Step, name: e.F, begins: e.Time})
	}
	f := &c.faults[at]
	f.phase = e.Phase
	if e.Text != "" && e.Phase != history.Fails {
		f.text = report.OneLine(e.Text)
	}
	if e.Phase == history.Healed || e.Phase == history.Fails {
		f.end = max(e.Time, 1)
	}
}

// inForce are the faults that go on.
func (c *course) inForce() []string {
	all := []string{}
	for _, f := range c.faults {
		if f.end == 0 {
			all = append(all, cmp.Or(f.text, f.name))
		}
	}
	return all
}

// phase is where the lock stands.
func (c *course) phase(now time.Time) string {
	h := &c.follow.Header
	switch silent := now.Sub(c.heard); {
	case c.trouble != "":
		return c.trouble
	case !c.follow.Begun() || c.events == 0:
		return "starting"
	case silent > silenceMost:
		return fmt.Sprintf("nothing new for %d s: it is over, or stands still", int(silent.Seconds()))
	case c.episode == 0:
		return "warming up"
	case c.quiet:
		return fmt.Sprintf("episode %d, quiet stretch", c.episode)
	case h.Bounds != nil && h.Bounds.Episodes > 0:
		return fmt.Sprintf("episode %d of %d", c.episode, h.Bounds.Episodes)
	}
	return fmt.Sprintf("episode %d", c.episode)
}

// silenceMost is for how long a lock may write nothing before that is said.
const silenceMost = 5 * time.Second

// due tells whether there is enough that is new to judge it. As in a run itself, judging
// again waits until the history has grown by a quarter, so that it stays cheap.
func (c *course) due() bool {
	return c.settled && c.part == "" && c.trouble == "" && c.events >= c.judged+c.judged/4+1
}

// judge judges what is there so far. A violation is told as the report will tell it.
func (s *Site) judge(c *course) {
	c.settled, c.judged = false, c.events
	name := path.Join(c.folder, report.HistoryFile)
	err := func() error {
		f, err := s.root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		h, err := history.Read(f)
		if err != nil {
			return err
		}
		l, err := s.o.Judge(name, h)
		if err != nil {
			return err
		}
		if l.Verdict != checker.Violated {
			return nil
		}
		// What is expected stands in no history, and a run that goes on is no answer to it.
		l.Lock, l.Expected, l.AsExpected = c.name, "any", true
		if l.Control() {
			l.Servers = "control"
		}
		var b bytes.Buffer
		if err := page.WritePart(&b, &l, h); err != nil {
			return err
		}
		c.part, c.found, c.look = b.String(), l.Found(), l.Look()
		c.version++
		return nil
	}()
	if err != nil {
		c.trouble = report.OneLine(err.Error())
	}
}

// servers are the lock's in a word.
func (c *course) servers() string {
	if t := locks.Topology(c.follow.Header.Topology); t != locks.None {
		return string(t)
	}
	return "control"
}

// series counts in stretches of time. As time goes on, there are as many stretches as
// before, and they are longer.
type series struct {
	Bin   time.Duration
	Bins  []int
	Total int
}

// binsMost is about what a screen can tell apart.
const binsMost = 200

func (s *series) add(at time.Duration) {
	if s.Bin == 0 {
		s.Bin = 250 * time.Millisecond
	}
	for at/s.Bin >= binsMost {
		half := s.Bins[:(len(s.Bins)+1)/2]
		for i := range half {
			n := s.Bins[2*i]
			if 2*i+1 < len(s.Bins) {
				n += s.Bins[2*i+1]
			}
			half[i] = n
		}
		s.Bins, s.Bin = half, 2*s.Bin
	}
	for int(at/s.Bin) >= len(s.Bins) {
		s.Bins = append(s.Bins, 0)
	}
	s.Bins[at/s.Bin]++
	s.Total++
}
