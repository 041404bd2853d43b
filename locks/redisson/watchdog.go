package redisson

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockbench/locks/goredis"
)

// renewalsMax is the number of locks that one script renews.
const renewalsMax = 100

// watchdog renews the leases without a ttl of one client.
//
// A round begins a third of the lease after the end of the round before, so a slow server delays the next round of all
// locks (hazard R-11). Each lock is renewed in the name of its first owner. A failed round is not logged and is repeated
// the next time. A lock that its owner no longer holds is dropped.
type watchdog struct {
	client  conn
	lease   time.Duration
	script  *goredis.Script
	args    func(name, owner string) []any // the arguments of the script for a lock
	shared  bool                           // one renewal counts for all owners, not only the first
	chained bool                           // the earlier watchdog: it stops after a failure
	silent  bool

	mu      sync.Mutex
	locks   []*renewal // oldest first
	busy    bool
	end     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// renewal is a lock that is renewed.
type renewal struct {
	name   string
	owners []*renewed // in the order of their grants
}

// renewed is an owner of the lock. A loss is one event for all its holds.
type renewed struct {
	owner string
	holds int
	lost  chan struct{}
	lose  func() // closes lost, once
	// overdue fires when the lease has ended without a renewal. Nil: no notices.
	overdue *time.Timer
}

// begin begins a lease that can be lost.
func (r *renewed) begin() {
	lost := make(chan struct{})
	r.lost, r.lose = lost, sync.OnceFunc(func() { close(lost) })
}

func newWatchdog(c conn, o Options, script *goredis.Script, args func(name, owner string) []any) *watchdog {
	w := &watchdog{client: c, lease: o.Watchdog, script: script, args: args,
		chained: o.Chained, silent: o.Silent}
	w.end, w.stop = context.WithCancel(context.Background())
	return w
}

// add renews a hold that was granted by a request sent at start. The channel is closed when the lock is known to be lost.
// It is nil without notices.
func (w *watchdog) add(name, owner string, start time.Time) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.find(name)
	if l == nil {
		l = &renewal{name: name}
		w.locks = append(w.locks, l)
	}
	r := l.of(owner)
	if r == nil {
		r = &renewed{owner: owner}
		r.begin()
		l.owners = append(l.owners, r)
	}
	select {
	case <-r.lost: // that was an earlier lease of the same owner
		r.begin()
	default:
	}
	r.holds++
	if !w.silent {
		w.renewedAt(r, start)
	}
	if !w.busy && w.end.Err() == nil {
		w.busy = true
		w.running.Go(w.run)
	}
	if w.silent {
		return nil
	}
	return r.lost
}

// renewedAt records that the lease of r counts from start or later. The caller holds w.mu.
func (w *watchdog) renewedAt(r *renewed, start time.Time) {
	r.rest()
	r.overdue = time.AfterFunc(time.Until(start.Add(w.lease)), r.lose)
}

// remove stops renewing one hold.
func (w *watchdog) remove(name, owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.find(name)
	if l == nil {
		return
	}
	r := l.of(owner)
	if r == nil {
		return
	}
	if r.holds--; r.holds > 0 {
		return
	}
	r.rest()
	l.owners = slices.DeleteFunc(l.owners, func(x *renewed) bool { return x == r })
	if len(l.owners) == 0 {
		w.forget(l)
	}
}

// drop ends the renewal of a lock and notifies the owners that have lost it: those that held it when the round began. After a
// failure, when no owner is known to have lost it, owners may notice when the lease is over.
// Renewals also end for an owner that was granted the lock since then, as in Redisson, but that owner has not lost it yet:
//
//	owner     release ── acquire ok ──────────────────────── notice by its timer
//	round  begins ── finds no lock ── drops the name            lease over
func (w *watchdog) drop(name string, losers []*renewed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.find(name)
	if l == nil {
		return
	}
	w.forget(l)
	for _, r := range l.owners {
		if slices.Contains(losers, r) {
			r.rest()
			r.lose()
		}
	}
}

// find returns the lock with a name, or nil. The caller holds w.mu.
func (w *watchdog) find(name string) *renewal {
	i := slices.IndexFunc(w.locks, func(l *renewal) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return w.locks[i]
}

func (w *watchdog) forget(l *renewal) {
	w.locks = slices.DeleteFunc(w.locks, func(other *renewal) bool { return other == l })
}

func (l *renewal) of(owner string) *renewed {
	for _, r := range l.owners {
		if r.owner == owner {
			return r
		}
	}
	return nil
}

func (r *renewed) rest() {
	if r.overdue != nil {
		r.overdue.Stop()
	}
}

// run does rounds while there are locks to renew.
func (w *watchdog) run() {
	for {
		pause := time.NewTimer(w.lease / 3)
		select {
		case <-pause.C:
		case <-w.end.Done():
			pause.Stop()
			return
		}
		w.mu.Lock()
		if len(w.locks) == 0 {
			w.busy = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		w.round()
	}
}

// job is a lock of a round, in the state at the beginning of the round.
type job struct {
	name    string
	owner   string
	holders []*renewed
	args    []any
}

func (w *watchdog) round() {
	w.mu.Lock()
	jobs := make([]job, 0, len(w.locks))
	for _, l := range w.locks {
		owner := l.owners[0].owner
		jobs = append(jobs, job{l.name, owner, slices.Clone(l.owners), w.args(l.name, owner)})
	}
	w.mu.Unlock()
	chunk := renewalsMax
	if w.chained {
		chunk = 1
	}
	for _, group := range bySlot(w.client, jobs, func(j job) string { return j.name }) {
		for ; len(group) > 0; group = group[min(chunk, len(group)):] {
			w.renew(group[:min(chunk, len(group))])
		}
	}
}

// renew renews a group of locks with one script.
func (w *watchdog) renew(jobs []job) {
	keys := make([]string, 0, len(jobs))
	args := []any{w.lease.Milliseconds()}
	for _, j := range jobs {
		keys = append(keys, j.name)
		args = append(args, j.args...)
	}
	start := time.Now()
	held, err := w.script.RunList(w.end, w.client, keys, args...)
	for i, j := range jobs {
		switch {
		case err != nil && w.chained:
			w.drop(j.name, nil)
		case err != nil || i >= len(held): // the next round may do better
		case held[i] == 0:
			w.drop(j.name, j.holders)
		case !w.silent:
			w.prolong(j, start)
		}
	}
}

// prolong records that a lock was renewed.
func (w *watchdog) prolong(j job, start time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.find(j.name)
	if l == nil {
		return
	}
	for _, r := range l.owners {
		if w.shared || r.owner == j.owner {
			w.renewedAt(r, start)
		}
	}
}

// close ends all renewals. Held locks stay held until their leases end.
func (w *watchdog) close() {
	w.stop()
	w.running.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.locks {
		for _, r := range l.owners {
			r.rest()
		}
	}
}
