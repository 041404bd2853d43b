package run

import (
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/report"
)

// tickEvery is how often the progress line is drawn again.
const tickEvery = 200 * time.Millisecond

// settleGuess is what starting, electing and settling add to an episode, for the
// guess of how long a run takes.
const settleGuess = 3 * time.Second

// progress passes on what trials tell to the person who waits.
type progress struct {
	to       *report.Progress
	started  time.Time
	expected time.Duration
	episodes int
	grants   atomic.Int64
	episode  atomic.Int64
	stop     chan struct{}
	wg       sync.WaitGroup
}

// newProgress ticks until end is called.
func (r *runner) newProgress() *progress {
	p := &progress{to: r.options.Progress, started: time.Now(), episodes: r.scenario.Episodes, stop: make(chan struct{})}
	p.expected = r.options.Duration
	if p.expected == 0 {
		one := r.plan.Longest() + r.scenario.Quiet + settleGuess
		p.expected = min(r.scenario.Limit, time.Duration(r.scenario.Episodes)*one)
	}
	if p.to == nil {
		return p
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

// end takes the line away.
func (p *progress) end() {
	if p.to == nil {
		return
	}
	close(p.stop)
	p.wg.Wait()
	p.to.Done()
}

// observer is what a trial tells.
func (p *progress) observer() observer {
	if p.to == nil {
		return silent()
	}
	return observer{
		fault:    p.to.Fault,
		violated: p.to.Violation,
		episode: func(_ string, n int) {
			// Locks side by side are not quite in step; the one furthest ahead counts.
			for {
				seen := p.episode.Load()
				if int64(n) <= seen || p.episode.CompareAndSwap(seen, int64(n)) {
					return
				}
			}
		},
		grant: func() { p.grants.Add(1) },
	}
}

// observer hears what happens while a trial runs.
type observer struct {
	fault    func(lock, text string)
	violated func(lock, text string)
	episode  func(lock string, n int)
	grant    func()
	phase    func(phase string, at time.Time, text string)
}

// silent listens to nothing.
func silent() observer {
	return observer{
		fault: func(string, string) {}, violated: func(string, string) {},
		episode: func(string, int) {}, grant: func() {},
	}
}
