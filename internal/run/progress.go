package run

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
)

// Observer receives the progress of a run, from several goroutines. [*report.Progress] is one.
type Observer interface {
	// Fault reports a fault or its undoing.
	Fault(lock, text string)
	// Warning reports, once for each lock, that its guest misbehaves.
	Warning(lock, text string)
	// Violation reports, once for each lock, that it is violated.
	Violation(lock, text string)
	// Tick reports the progress a few times a second until Done.
	Tick(t report.Tick)
	Done()
}

// NoObserver ignores the progress. Its runs are judged at the end only.
type NoObserver struct{}

var _ Observer = NoObserver{}

func (NoObserver) Fault(string, string)     {}
func (NoObserver) Warning(string, string)   {}
func (NoObserver) Violation(string, string) {}
func (NoObserver) Tick(report.Tick)         {}
func (NoObserver) Done()                    {}

// tickEvery is the interval between ticks.
const tickEvery = 200 * time.Millisecond

// progress collects the progress of all trials of a run and passes it on.
type progress struct {
	to       Observer
	started  time.Time
	episodes int // of each lock; 0: as many as there is time for
	grants   atomic.Int64
	stop     chan struct{}
	wg       sync.WaitGroup

	mu      sync.Mutex
	courses []course // one for each lock, in the order of the scenario
}

// course is the progress of one lock.
type course struct {
	lock    string
	state   courseState
	episode int // from 1; 0 before the first
	granted bool
	odd     bool // violated, against the expectation
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

// newProgress starts sending ticks. They stop when end is called.
func (r *runner) newProgress(to Observer) *progress {
	s := r.Scenario
	p := &progress{to: to, started: time.Now(), episodes: s.Episodes, stop: make(chan struct{})}
	if r.Options.Duration > 0 {
		p.episodes = 0
	}
	for _, use := range s.Locks {
		p.courses = append(p.courses, course{lock: use.Name})
	}
	p.wg.Go(func() {
		ticker := time.NewTicker(tickEvery)
		defer ticker.Stop()
		for {
			p.to.Tick(p.tick())
			select {
			case <-p.stop:
				return
			case <-ticker.C:
			}
		}
	})
	return p
}

// tick returns the state of the run. It names the running lock that is furthest behind.
func (p *progress) tick() report.Tick {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(p.started)
	t := report.Tick{
		Elapsed: now, Expected: p.expected(now), Locks: len(p.courses),
		Episodes: p.episodes, Grants: int(p.grants.Load()),
	}
	var least *course
	for i := range p.courses {
		c := &p.courses[i]
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
		t.Lock, t.Episode, t.Starting = least.lock, least.episode, !least.granted && least.episode == 0
		if least.granted {
			t.Episode = max(1, least.episode) // episode 0 is the warm-up
		}
	}
	return t
}

func (p *progress) end() {
	close(p.stop)
	p.wg.Wait()
	p.to.Done()
}

// followed reports whether the run has an observer.
func (p *progress) followed() bool { return p.to != Observer(NoObserver{}) }

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

func (p *progress) episodeBegins(lock string, n int) {
	p.update(lock, func(c *course) { c.episode = n })
}

func (p *progress) grant(lock string) {
	p.grants.Add(1)
	p.update(lock, func(c *course) { c.granted = true })
}

// violated records a violation.
func (p *progress) violated(lock string, expected bool) {
	p.update(lock, func(c *course) { c.odd = !expected })
}

// lockEnds records the final verdict of a lock.
func (p *progress) lockEnds(l *report.Lock) {
	p.update(l.Lock, func(c *course) { c.state, c.odd = over, l.Verdict == checker.Violated && !l.AsExpected })
}
