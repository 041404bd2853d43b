package run

import (
	"slices"
	"time"
)

// course is how far one lock of a run is. Its times are since the run began.
type course struct {
	lock    string
	state   courseState
	began   time.Duration // its servers to start
	first   time.Duration // its first episode
	latest  time.Duration // the episode that it is in
	ended   time.Duration
	episode int // from 1; 0 before the first
	granted bool
	odd     bool // it was violated, and that was not expected
}

type courseState int

const (
	waiting courseState = iota
	underWay
	over
)

// forecast guesses when a run is over: at first from the plan, and then from how long
// starts and episodes took that are over.
type forecast struct {
	start, episode time.Duration // the first guesses; 0: nobody can tell
	episodes       int
	limit          time.Duration // of one lock's episodes together
	slots          int           // how many locks run side by side
}

// end is when the run is over, counted from its beginning; 0: nobody can tell yet.
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
	free := make([]time.Duration, 0, f.slots) // when each slot is free, from now on
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

// finished is how long a lock's finished episodes took, and how many they are.
func (c course) finished() (took time.Duration, n int) {
	switch {
	case c.episode == 0:
		return 0, 0
	case c.state == over:
		return c.ended - c.first, c.episode
	}
	return c.latest - c.first, c.episode - 1
}

// whole is how long all episodes of a lock take, one of which takes so long.
func (f forecast) whole(episode time.Duration) time.Duration {
	return min(time.Duration(f.episodes)*episode, f.limit)
}

// left is how long a lock that is under way still takes. What takes longer than what
// was seen of others is taken to be over any moment.
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
