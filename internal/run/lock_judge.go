package run

import (
	"os"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/trial"
	"lockbench/locks"
)

// lockJudge observes the trial of one lock of a run, and judges its history: what there
// is of it after an episode, and the whole at the end. Both are the same judging,
// [readJudged], and the whole is always more than what was judged before: a quiet stretch
// follows each episode.
type lockJudge struct {
	trial.Nobody
	run      *runner
	lock     string
	topology locks.Topology
	path     string

	violated   bool  // and told: between episodes there is nothing more to learn
	size       int64 // of what was judged last
	notes      []string
	endedAfter int // the episode after which it was enough; 0: it never was
}

// Episode passes on how far the trial is.
func (j *lockJudge) Episode(n int) { j.run.progress.episodeBegins(j.lock, n) }

// Granted counts a grant.
func (j *lockJudge) Granted() { j.run.progress.grant(j.lock) }

// Fault passes on what is done to the lock's servers and clients.
func (j *lockJudge) Fault(text string) { j.run.progress.to.Fault(j.lock, text) }

// Warning passes on what is wrong with the lock's guest.
func (j *lockJudge) Warning(text string) { j.run.progress.to.Warning(j.lock, text) }

// Notes keeps what the lock's clients did wrong beside the history.
func (j *lockJudge) Notes(notes []string) { j.notes = notes }

// Enough says after an episode whether the lock's run ends with it: under
// --until-violation, when this lock or another one with servers has been seen to
// break. A lock without servers ends nobody's run, since a control that breaks is
// what every run begins with.
func (j *lockJudge) Enough(episode int) bool {
	if !j.stopped() && j.due() {
		_, _, _ = j.judge() // what cannot be judged is told at the end
	}
	if !j.stopped() {
		return false
	}
	// Another lock may have ended the run: then only this number tells when.
	j.endedAfter = episode
	return true
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
	if j.ends() || grown && j.run.progress.followed() {
		j.size = info.Size()
		return true
	}
	return false
}

// ends says whether a violation of this lock ends the run.
func (j *lockJudge) ends() bool { return j.run.Options.UntilViolation && j.topology != locks.None }

// judge judges what there is. A violation is told once, and may end the run of all
// locks.
func (j *lockJudge) judge() (*history.History, checker.Report, error) {
	h, r, err := readJudged(j.path, checker.Options{})
	f, found := r.First()
	if err != nil || j.violated || !found || r.Verdict != checker.Violated {
		return h, r, err
	}
	j.violated = true
	j.run.progress.to.Violation(j.lock, f.Text)
	j.run.progress.violated(j.lock, j.expected(h, r))
	if j.ends() {
		j.run.once.Do(func() { close(j.run.stop) })
	}
	return h, r, nil
}

// expected says whether what was judged is what was expected, but for the rate, which is
// of the whole run.
func (j *lockJudge) expected(h *history.History, r checker.Report) bool {
	l := report.NewLock(h, r)
	_, holds, _ := ExpectsVerdict(j.run.Scenario, &l)
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

// outside lets a trial whose clock is simulated in this process ask a question that is
// answered outside of the simulation: the judge searches for a limited time, and
// inside no time passes while somebody computes.
type outside struct {
	trial.Observer
	asked   chan int
	answers chan bool
}

func newOutside(observer trial.Observer) outside {
	o := outside{observer, make(chan int), make(chan bool)}
	go func() {
		for episode := range o.asked {
			o.answers <- observer.Enough(episode)
		}
	}()
	return o
}

func (o outside) Enough(episode int) bool {
	o.asked <- episode
	return <-o.answers
}

// end says that nobody will ask any more.
func (o outside) end() { close(o.asked) }
