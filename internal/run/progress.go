package run

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/world"
)

// Observer hears how a run goes on, from several goroutines at once, such as
// [*report.Progress].
type Observer interface {
	// Fault says what is done to the servers and clients of a lock.
	Fault(lock, text string)
	// Warning says, once for each lock, what is wrong with its guest.
	Warning(lock, text string)
	// Violation says, once for each lock, that it was seen to be violated.
	Violation(lock, text string)
	// Tick says how far the run is, a few times a second, until Done.
	Tick(t report.Tick)
	Done()
}

// Nobody observes nothing. What nobody observes is judged at its end only.
type Nobody struct{}

var _ Observer = Nobody{}

func (Nobody) Fault(string, string)     {}
func (Nobody) Warning(string, string)   {}
func (Nobody) Violation(string, string) {}
func (Nobody) Tick(report.Tick)         {}
func (Nobody) Done()                    {}

// tickEvery is how often an observer is told how far the run is.
const tickEvery = 200 * time.Millisecond

// settleGuess is what starting takes, and what electing and settling add to an episode,
// as long as none was seen.
const settleGuess = 3 * time.Second

// progress gathers what all trials of a run tell, and passes it on.
type progress struct {
	to       Observer
	started  time.Time
	forecast forecast
	episodes int // of each lock; 0: as many as there is time for
	grants   atomic.Int64
	stop     chan struct{}
	wg       sync.WaitGroup

	mu      sync.Mutex
	courses []course // one for each lock, in the order of the scenario
}

// newProgress ticks until end is called.
func (r *runner) newProgress(to Observer) *progress {
	s := r.Scenario
	p := &progress{to: to, started: time.Now(), episodes: s.Episodes, stop: make(chan struct{})}
	p.forecast = forecast{episodes: s.Episodes, limit: s.Limit, slots: r.Parallel}
	if r.Options.Duration > 0 {
		p.episodes = 0
	}
	if _, virtual := r.World.(world.Enclosing); !virtual {
		p.forecast.start, p.forecast.episode = settleGuess, r.Plan.Longest()+s.Quiet+settleGuess
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

// tick is where the run stands. Of the locks that are under way it names the one that is
// least far: that is the one to wait for.
func (p *progress) tick() report.Tick {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(p.started)
	t := report.Tick{
		Elapsed: now, Expected: p.forecast.end(now, p.courses), Locks: len(p.courses),
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
			t.Episode = max(1, least.episode) // it only warms up before
		}
	}
	return t
}

// end ends the ticking.
func (p *progress) end() {
	close(p.stop)
	p.wg.Wait()
	p.to.Done()
}

// followed says whether anybody observes the run.
func (p *progress) followed() bool { return p.to != Observer(Nobody{}) }

// of changes what is known of a lock.
func (p *progress) of(lock string, change func(c *course, now time.Duration)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.courses, func(c course) bool { return c.lock == lock }); i >= 0 {
		change(&p.courses[i], time.Since(p.started))
	}
}

// lockBegins takes note that a lock's servers are started.
func (p *progress) lockBegins(lock string) {
	p.of(lock, func(c *course, now time.Duration) { c.state, c.began = underWay, now })
}

// episodeBegins takes note of an episode of a lock.
func (p *progress) episodeBegins(lock string, n int) {
	p.of(lock, func(c *course, now time.Duration) {
		if c.episode == 0 {
			c.first = now
		}
		c.episode, c.latest = n, now
	})
}

// grant counts a grant.
func (p *progress) grant(lock string) {
	p.grants.Add(1)
	p.of(lock, func(c *course, _ time.Duration) { c.granted = true })
}

// violated takes note of a violation, if that was not expected.
func (p *progress) violated(lock string, expected bool) {
	p.of(lock, func(c *course, _ time.Duration) { c.odd = !expected })
}

// lockEnds takes note of a lock that was judged as a whole.
func (p *progress) lockEnds(l *report.Lock) {
	p.of(l.Lock, func(c *course, now time.Duration) {
		c.state, c.ended = over, now
		c.odd = l.Verdict == checker.Violated && !l.AsExpected
	})
}
