package run

import (
	"os"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/locks"
)

// lockJudge judges the history of one lock, after an episode and at the end.
type lockJudge struct {
	run      *runner
	lock     string
	topology locks.Topology
	path     string

	violated   bool  // and reported; judging between episodes finds nothing more
	size       int64 // of the history when it was last judged
	endedAfter int   // the episode after which enough returned true; 0: none
}

// enough reports whether the lock's run ends after an episode. That is the case under --until-violation as soon as a lock
// with servers is violated. A lock without servers ends no run, because controls are violated in every run.
func (j *lockJudge) enough(episode int) bool {
	if !j.stopped() && j.due() {
		_, _, _ = j.judge() // the last judging reports errors
	}
	if !j.stopped() {
		return false
	}
	// If another lock ended the run, only this number records when this one ended.
	j.endedAfter = episode
	return true
}

// due reports whether to judge again. With --until-violation every episode is judged. Otherwise the history must have
// grown by a quarter, which limits the total cost of judging to five times the cost of the last one.
func (j *lockJudge) due() bool {
	info, err := os.Stat(j.path)
	if err != nil || j.violated {
		return false
	}
	grown := info.Size()-j.size >= j.size/4
	if j.ends() || grown && j.run.progress.show != nil {
		j.size = info.Size()
		return true
	}
	return false
}

// ends reports whether a violation of this lock ends the run.
func (j *lockJudge) ends() bool { return j.run.Options.UntilViolation && j.topology != locks.None }

// judge judges the history. It reports the first violation once, which may end the run of all locks.
func (j *lockJudge) judge() (*history.History, checker.Report, error) {
	h, r, err := readJudged(j.path, checker.Options{})
	f, found := r.First()
	if err != nil || j.violated || !found || r.Verdict != checker.Violated {
		return h, r, err
	}
	j.violated = true
	j.run.progress.violated(j.lock, f.Text, j.expected(h, r))
	if j.ends() {
		j.run.once.Do(func() { close(j.run.stop) })
	}
	return h, r, nil
}

// expected reports whether the result so far is expected. It ignores the rate, which needs the whole run.
func (j *lockJudge) expected(h *history.History, r checker.Report) bool {
	l := report.NewLock(h, r)
	holds, _ := ExpectsVerdict(j.run.Scenario, &l)
	return holds
}

func (j *lockJudge) stopped() bool {
	select {
	case <-j.run.stop:
		return true
	default:
		return false
	}
}

// outside makes enough be evaluated in a goroutine outside the simulation, which end stops. The judge's time limits need
// real time, and virtual time does not pass while a goroutine computes.
func outside(enough func(episode int) bool) (asked func(episode int) bool, end func()) {
	episodes, answers := make(chan int), make(chan bool)
	go func() {
		for episode := range episodes {
			answers <- enough(episode)
		}
	}()
	return func(episode int) bool {
		episodes <- episode
		return <-answers
	}, func() { close(episodes) }
}
