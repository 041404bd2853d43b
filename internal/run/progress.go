package run

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// tickEvery is the interval between ticks.
const tickEvery = 200 * time.Millisecond

// progress shows the progress of a run. It reads the histories of all locks while they are written.
type progress struct {
	show     func(report.Tick) // called by one goroutine; nil: nothing follows the run
	started  time.Time
	episodes int // of each lock; 0: as many as there is time for
	stop     chan struct{}
	wg       sync.WaitGroup

	mu      sync.Mutex
	courses []course      // one for each lock, in the order of the scenario
	news    []report.News // since the last tick
}

// course is the progress of one lock.
type course struct {
	lock    string
	state   courseState
	episode int // from 1; 0 before the first
	grants  int
	odd     bool // violated, against the expectation

	path   string   // of the history
	file   *os.File // nil before the first tick that finds it, and after it was read to its end
	follow *history.Follower
}

type courseState int

const (
	waiting courseState = iota
	underWay
	over
)

// expected estimates when the run ends, counted from its start, by the share of the episodes that are done. 0: unknown.
func (p *progress) expected(now time.Duration) time.Duration {
	done := 0
	for _, c := range p.courses {
		if c.state == over {
			done += p.episodes
		} else {
			done += max(0, c.episode-1)
		}
	}
	if done == 0 {
		return 0
	}
	return now * time.Duration(len(p.courses)*p.episodes) / time.Duration(done)
}

// newProgress starts to show the progress. It ends when end is called.
func (r *runner) newProgress(show func(report.Tick)) *progress {
	s := r.Scenario
	p := &progress{show: show, started: time.Now(), episodes: s.Episodes, stop: make(chan struct{})}
	if r.Options.Duration > 0 {
		p.episodes = 0
	}
	for _, use := range s.Locks {
		p.courses = append(p.courses, course{lock: use.Name, path: filepath.Join(r.bundle.Dir, use.Name, report.HistoryFile)})
	}
	if show == nil {
		return p
	}
	p.wg.Go(func() {
		ticker := time.NewTicker(tickEvery)
		defer ticker.Stop()
		for over := false; !over; {
			show(p.tick())
			select {
			case <-p.stop:
				over = true
			case <-ticker.C:
			}
		}
		last := p.tick()
		last.Over = true
		show(last)
	})
	return p
}

// tick reads what the histories have more and returns the state of the run. It names the running lock that is furthest
// behind.
func (p *progress) tick() report.Tick {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.courses {
		p.news = append(p.news, p.courses[i].read()...)
	}
	now := time.Since(p.started)
	t := report.Tick{Elapsed: now, Expected: p.expected(now), Locks: len(p.courses), Episodes: p.episodes, News: p.news}
	p.news = nil
	var least *course
	for i := range p.courses {
		c := &p.courses[i]
		t.Grants += c.grants
		if c.odd {
			t.Violated++
		}
		switch {
		case c.state == over:
			t.Done++
		case c.state == underWay && (least == nil || c.episode < least.episode):
			least = c
		}
	}
	if least != nil {
		t.Lock, t.Episode, t.Starting = least.lock, least.episode, least.grants == 0 && least.episode == 0
		if least.grants > 0 {
			t.Episode = max(1, least.episode) // episode 0 is the warm-up
		}
	}
	return t
}

// read reads what the history has more and returns the news in it. The judge reports an error in it.
func (c *course) read() (news []report.News) {
	if c.state == waiting {
		return nil
	}
	if c.follow == nil {
		file, err := os.Open(c.path)
		if err != nil {
			return nil // the history has not begun
		}
		c.file, c.follow = file, history.Follow(file)
	}
	if c.file == nil {
		return nil
	}
	err := c.follow.More(func(e *history.Event) {
		switch {
		case e.F == history.Acquire && e.Type == history.OK:
			c.grants++
		case e.Facts != nil && e.Facts.Episode != nil:
			c.episode = e.Facts.Number
		}
		if n, ok := report.NewsOf(e); ok {
			n.Lock = c.lock
			news = append(news, n)
		}
	})
	if err != nil || c.state == over {
		_ = c.file.Close() // it was only read
		c.file = nil
	}
	return news
}

// end shows the last state and stops.
func (p *progress) end() {
	close(p.stop)
	p.wg.Wait()
}

// update changes the progress of a lock.
func (p *progress) update(lock string, change func(c *course)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.courses, func(c course) bool { return c.lock == lock }); i >= 0 {
		change(&p.courses[i])
	}
}

func (p *progress) lockBegins(lock string) {
	p.update(lock, func(c *course) { c.state = underWay })
}

// violated reports the first violation of a lock.
func (p *progress) violated(lock, text string, expected bool) {
	p.update(lock, func(c *course) {
		c.odd = !expected
		p.news = append(p.news, report.News{Lock: lock, Kind: report.Violation, Text: text})
	})
}

// lockEnds records the final verdict of a lock.
func (p *progress) lockEnds(l *report.Lock) {
	p.update(l.Lock, func(c *course) { c.state, c.odd = over, l.Verdict == checker.Violated && !l.AsExpected })
}
