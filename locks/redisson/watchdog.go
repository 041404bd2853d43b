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
	args    func(*renewal) []any // the arguments of the script for a lock
	shared  bool                 // one renewal counts for all owners, not only the first
	chained bool                 // the earlier watchdog: it stops after a failure
	silent  bool

	mu      sync.Mutex
	locks   map[string]*renewal
	order   []string // names, oldest first
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
	once  *sync.Once
	// overdue fires when the lease has ended without a renewal. Nil: no notices.
	overdue *time.Timer
}

// losing returns a function that closes the current channel.
func (r *renewed) losing() func() {
	once, lost := r.once, r.lost
	return func() { once.Do(func() { close(lost) }) }
}

func newWatchdog(c conn, o Options, script *goredis.Script, args func(*renewal) []any) *watchdog {
	w := &watchdog{client: c, lease: o.Watchdog, script: script, args: args,
		chained: o.Chained, silent: o.Silent, locks: make(map[string]*renewal)}
	w.end, w.stop = context.WithCancel(context.Background())
	return w
}

// add renews a hold that was granted by a request sent at start. The channel is closed when the lock is known to be lost.
func (w *watchdog) add(name, owner string, start time.Time) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.locks[name]
	if l == nil {
		l = &renewal{name: name}
		w.locks[name] = l
		w.order = append(w.order, name)
	}
	r := l.of(owner)
	if r == nil {
		r = &renewed{owner: owner, lost: make(chan struct{}), once: new(sync.Once)}
		l.owners = append(l.owners, r)
	}
	select {
	case <-r.lost: // that was an earlier lease of the same owner
		r.lost, r.once = make(chan struct{}), new(sync.Once)
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
	return r.lost
}

// renewedAt records that the lease of r counts from start or later. The caller holds w.mu.
func (w *watchdog) renewedAt(r *renewed, start time.Time) {
	r.rest()
	r.overdue = time.AfterFunc(time.Until(start.Add(w.lease)), r.losing())
}

// remove stops renewing one hold.
func (w *watchdog) remove(name, owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.locks[name]
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
		w.forget(name)
	}
}

// drop ends the renewal of a lock and notifies the owners that have lost it: those that held it when the round began.
// Renewals also end for an owner that was granted the lock since then, as in Redisson, but that owner has not lost it yet:
//
//	owner     release ── acquire ok ──────────────────────── notice by its timer
//	round  begins ── finds no lock ── drops the name            lease over
func (w *watchdog) drop(name string, hasLost func(*renewed) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.locks[name]
	if l == nil {
		return
	}
	w.forget(name)
	for _, r := range l.owners {
		if hasLost(r) {
			r.rest()
			if !w.silent {
				r.losing()()
			}
		}
	}
}

func (w *watchdog) forget(name string) {
	delete(w.locks, name)
	w.order = slices.DeleteFunc(w.order, func(n string) bool { return n == name })
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
	jobs := make([]job, 0, len(w.order))
	for _, name := range w.order {
		l := w.locks[name]
		jobs = append(jobs, job{name, l.owners[0].owner, slices.Clone(l.owners), w.args(l)})
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
			w.abandon(j.name)
		case err != nil || i >= len(held): // the next round may do better
		case held[i] == 0:
			w.drop(j.name, func(r *renewed) bool { return slices.Contains(j.holders, r) })
		case !w.silent:
			w.prolong(j, start)
		}
	}
}

// prolong records that a lock was renewed.
func (w *watchdog) prolong(j job, start time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.locks[j.name]
	if l == nil {
		return
	}
	for _, r := range l.owners {
		if w.shared || r.owner == j.owner {
			w.renewedAt(r, start)
		}
	}
}

// abandon silently stops renewing a lock after a failure. Its owners may notice when the lease is over.
func (w *watchdog) abandon(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(name)
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
