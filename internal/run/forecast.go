package run

import (
	"slices"
	"time"
)

// course is the progress of one lock. Its times count from the start of the run.
type course struct {
	lock    string
	state   courseState
	began   time.Duration // when its servers began to start
	first   time.Duration // start of the first episode
	latest  time.Duration // start of the current episode
	ended   time.Duration
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

// forecast estimates the end of a run, first from the plan and later from the durations of finished starts and episodes.
type forecast struct {
	start, episode time.Duration // the first estimates; 0: unknown
	episodes       int
	limit          time.Duration // of all episodes of one lock
	slots          int           // how many locks run side by side
}

// end returns when the run ends, counted from its start, or 0 if that is not known yet.
func (f forecast) end(now time.Duration, all []course) time.Duration {
	var started, before time.Duration // of all locks together
	var starts, episodes int
	for _, c := range all {
		if c.episode > 0 {
			started += c.first - c.began
			starts++
		}
		took, n := c.finished()
		before += took
		episodes += n
	}
	start, episode := f.start, f.episode
	if starts > 0 {
		start = started / time.Duration(starts)
	}
	if episodes > 0 {
		episode = before / time.Duration(episodes)
	}
	if episode == 0 {
		return 0
	}
	free := make([]time.Duration, 0, f.slots) // when each slot becomes free, counted from now
	last := time.Duration(0)
	for _, c := range all {
		if c.state == underWay {
			left := f.left(c, now, start, episode)
			free = append(free, left)
			last = max(last, left)
		}
	}
	for len(free) < max(f.slots, 1) {
		free = append(free, 0)
	}
	for _, c := range all {
		if c.state != waiting {
			continue
		}
		slot := slices.Index(free, slices.Min(free))
		free[slot] += start + f.whole(episode)
		last = max(last, free[slot])
	}
	return now + last
}

// finished returns the number of finished episodes of a lock and their total duration.
func (c course) finished() (took time.Duration, n int) {
	switch {
	case c.episode == 0:
		return 0, 0
	case c.state == over:
		return c.ended - c.first, c.episode
	}
	return c.latest - c.first, c.episode - 1
}

// whole returns the duration of all episodes of a lock.
func (f forecast) whole(episode time.Duration) time.Duration {
	return min(time.Duration(f.episodes)*episode, f.limit)
}

// left returns the remaining time of a running lock. An episode that takes longer than average counts as about to end.
func (f forecast) left(c course, now, start, episode time.Duration) time.Duration {
	if c.episode == 0 {
		return max(0, c.began+start-now) + f.whole(episode)
	}
	if took, n := c.finished(); n > 0 {
		episode = took / time.Duration(n)
	}
	this := max(0, c.latest+episode-now)
	return min(this+time.Duration(f.episodes-c.episode)*episode, max(this, c.first+f.limit-now))
}
