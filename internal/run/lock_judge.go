package run

import (
	"os"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/locks"
)

// lockJudge judges the history of one lock of a run: what there is of it after an
// episode, and the whole at the end. Both are the same judging, [readJudged].
type lockJudge struct {
	run      *runner
	lock     string
	topology locks.Topology
	path     string
	observer observer

	violated bool  // and told: between episodes there is nothing more to learn
	size     int64 // of what was judged last
}

// enough says after an episode whether the lock's run ends with it: under
// --until-violation, when this lock or another one with servers has been seen to
// break. A lock without servers ends nobody's run, since a control that breaks is
// what every run begins with.
func (j *lockJudge) enough(int) bool {
	if !j.stopped() && j.due() {
		// What cannot be judged is told at the end.
		if _, judged, err := readJudged(j.path, checker.Options{}); err == nil {
			j.judged(judged)
		}
	}
	return j.stopped()
}

// due says whether what has been recorded since the last time is worth judging
// everything again. For the person who waits that is so when the history has grown by a
// quarter: judging after each of a thousand episodes would take longer than the run,
// and so it is five times the last one at most. A run that ends by it is judged after
// each episode.
func (j *lockJudge) due() bool {
	info, err := os.Stat(j.path)
	if err != nil || j.violated {
		return false
	}
	grown := info.Size()-j.size >= j.size/4
	if j.ends() || grown && j.run.options.Progress != nil {
		j.size = info.Size()
		return true
	}
	return false
}

// ends says whether a violation of this lock ends the run.
func (j *lockJudge) ends() bool { return j.run.options.UntilViolation && j.topology != locks.None }

// judged takes note of what the judge said: a violation is told once, and may end the
// run of all locks.
func (j *lockJudge) judged(r checker.Report) {
	f, found := r.First()
	if j.violated || !found || r.Verdict != checker.Violated {
		return
	}
	j.violated = true
	j.observer.violated(j.lock, f.Text)
	if j.ends() {
		j.run.once.Do(func() { close(j.run.stop) })
	}
}

func (j *lockJudge) stopped() bool {
	select {
	case <-j.run.stop:
		return true
	default:
		return false
	}
}

// whole judges the history when the run is over.
func (j *lockJudge) whole() (*history.History, checker.Report, error) {
	h, r, err := readJudged(j.path, checker.Options{})
	if err == nil {
		j.judged(r)
	}
	return h, r, err
}

// outside lets a trial whose clock is simulated in this process ask a question that is
// answered outside of the simulation: the judge searches for a limited time, and
// inside no time passes while somebody computes.
func outside(enough func(episode int) bool) (ask func(episode int) bool, end func()) {
	asked, answers := make(chan int), make(chan bool)
	go func() {
		for episode := range asked {
			answers <- enough(episode)
		}
	}()
	return func(episode int) bool {
		asked <- episode
		return <-answers
	}, func() { close(asked) }
}
