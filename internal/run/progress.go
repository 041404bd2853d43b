package run

import (
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/report"
)

// Observer hears how a run goes on, from several goroutines at once, such as
// [*report.Progress].
type Observer interface {
	// Fault says what is done to the servers and clients of a lock.
	Fault(lock, text string)
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
func (Nobody) Violation(string, string) {}
func (Nobody) Tick(report.Tick)         {}
func (Nobody) Done()                    {}

// tickEvery is how often an observer is told how far the run is.
const tickEvery = 200 * time.Millisecond

// settleGuess is what starting, electing and settling add to an episode, for the
// guess of how long a run takes.
const settleGuess = 3 * time.Second

// progress counts what all trials of a run tell, and passes it on.
type progress struct {
	to       Observer
	started  time.Time
	expected time.Duration
	episodes int
	grants   atomic.Int64
	episode  atomic.Int64
	stop     chan struct{}
	wg       sync.WaitGroup
}

// newProgress ticks until end is called.
func (r *runner) newProgress(to Observer) *progress {
	p := &progress{to: to, started: time.Now(), episodes: r.scenario.Episodes, stop: make(chan struct{})}
	p.expected = r.options.Duration
	if p.expected == 0 {
		one := r.plan.Longest() + r.scenario.Quiet + settleGuess
		p.expected = min(r.scenario.Limit, time.Duration(r.scenario.Episodes)*one)
	}
	p.wg.Go(func() {
		ticker := time.NewTicker(tickEvery)
		defer ticker.Stop()
		for {
			p.tick()
			select {
			case <-p.stop:
				return
			case <-ticker.C:
			}
		}
	})
	return p
}

func (p *progress) tick() {
	p.to.Tick(report.Tick{
		Elapsed: time.Since(p.started), Expected: p.expected,
		Episode: int(p.episode.Load()), Episodes: p.episodes, Grants: int(p.grants.Load()),
	})
}

// end ends the ticking.
func (p *progress) end() {
	close(p.stop)
	p.wg.Wait()
	p.to.Done()
}

// followed says whether anybody observes the run.
func (p *progress) followed() bool { return p.to != Observer(Nobody{}) }

// episodeBegins takes note of an episode of some lock. Locks side by side are not quite
// in step; the one furthest ahead counts.
func (p *progress) episodeBegins(n int) {
	for {
		seen := p.episode.Load()
		if int64(n) <= seen || p.episode.CompareAndSwap(seen, int64(n)) {
			return
		}
	}
}
