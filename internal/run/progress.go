package run

import (
	"cmp"
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

// settleGuess is the first estimate of the time that servers need to start, or to elect a leader after an episode.
const settleGuess = 3 * time.Second

// progress collects the progress of all trials of a run and passes it on.
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

// course is the progress of one lock.
type course struct {
	lock    string
	state   courseState
	latest  time.Duration // start of the current episode, or of the servers before the first, counted from the start of the run
	episode int           // from 1; 0 before the first
	granted bool
	odd     bool // violated, against the expectation
}

type courseState int

const (
	waiting courseState = iota
	underWay
	over
)

// forecast estimates the end of a run: from the plan until an episode is finished, then from the finished episodes.
type forecast struct {
	guess    time.Duration // the duration of an episode by the plan; 0: unknown
	episodes int           // of each lock
	limit    time.Duration // of all episodes of one lock
	slots    int           // how many locks run side by side
	pace     Pace          // of finished episodes
}

// end returns when the run ends, counted from its start, or 0 if that is not known yet.
func (f *forecast) end(now time.Duration, all []course) time.Duration {
	episodes, locks := 0, 0
	var begun time.Duration // of the running episodes
	for _, c := range all {
		if c.state == over {
			continue
		}
		locks++
		episodes += f.episodes - max(0, c.episode-1)
		if c.state == underWay {
			begun += now - c.latest
		}
	}
	if locks == 0 {
		return now
	}
	left := cmp.Or(f.pace.Left(map[string]int{"": episodes}), time.Duration(episodes)*f.guess)
	if left == 0 {
		return 0
	}
	left = max(0, min(left, time.Duration(locks)*f.limit)-begun)
	return now + left/time.Duration(min(locks, max(f.slots, 1)))
}

// newProgress starts sending ticks. They stop when end is called.
func (r *runner) newProgress(to Observer) *progress {
	s := r.Scenario
	p := &progress{to: to, started: time.Now(), episodes: s.Episodes, stop: make(chan struct{})}
	p.forecast = forecast{episodes: s.Episodes, limit: s.Limit, slots: r.Parallel}
	if r.Options.Duration > 0 {
		p.episodes = 0
	}
	if !r.World.Describe().Virtual {
		p.forecast.guess = r.Plan.Longest() + s.Quiet + settleGuess
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
func (p *progress) update(lock string, change func(c *course, now time.Duration)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.courses, func(c course) bool { return c.lock == lock }); i >= 0 {
		change(&p.courses[i], time.Since(p.started))
	}
}

func (p *progress) lockBegins(lock string) {
	p.update(lock, func(c *course, now time.Duration) { c.state, c.latest = underWay, now })
}

func (p *progress) episodeBegins(lock string, n int) {
	p.update(lock, func(c *course, now time.Duration) {
		p.ended(c, now)
		c.episode, c.latest = n, now
	})
}

// ended records the duration of the current episode of a lock.
func (p *progress) ended(c *course, now time.Duration) {
	if c.episode > 0 {
		p.forecast.pace.Add("", now-c.latest)
	}
}

func (p *progress) grant(lock string) {
	p.grants.Add(1)
	p.update(lock, func(c *course, _ time.Duration) { c.granted = true })
}

// violated records a violation.
func (p *progress) violated(lock string, expected bool) {
	p.update(lock, func(c *course, _ time.Duration) { c.odd = !expected })
}

// lockEnds records the final verdict of a lock.
func (p *progress) lockEnds(l *report.Lock) {
	p.update(l.Lock, func(c *course, now time.Duration) {
		p.ended(c, now)
		c.state = over
		c.odd = l.Verdict == checker.Violated && !l.AsExpected
	})
}
