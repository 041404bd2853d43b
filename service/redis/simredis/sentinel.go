package simredis

import (
	"fmt"
	"time"

	"lockbench/internal/world/sim"
)

// The times of a sentinel. Those that a real one lets be set are those of the local
// world; the others are its built-in ones.
const (
	// It looks at every server after each of these, drawn: three sentinels that look at
	// the same moments see the same, all stand for election, and split the votes.
	sentinelTickMin = 50 * time.Millisecond
	sentinelTickMax = 100 * time.Millisecond
	downAfter       = 500 * time.Millisecond // silence that makes a server count as down
	askPeriod       = time.Second            // between questions to the others
	answerFresh     = 5 * time.Second        // as long an answer of another counts
	publishPeriod   = 500 * time.Millisecond // for announcements of the master to the other sentinels
	failoverTimeout = 2 * time.Second        // an election, or a promotion, that takes longer is given up
	desyncMax       = time.Second            // drawn, so that two do not try at the same moment again and again
	lookPeriod      = time.Second            // between looks at the server that is being promoted
	doubtPeriod     = 4 * publishPeriod      // a second master is left in peace for so long
	quorum          = 2
)

// sentinel watches the data nodes and promotes a replica when the master is down:
// a model of what Redis Sentinel does, with its messages on the simulated network.
//
//	watching ──down by its own eyes, and by a quorum's──▶ election ──majority──▶ promotion
//	   ▲                                                     │                      │
//	   └────────────given up after failoverTimeout───────────┴──────────────────────┤
//	   └────────────────────── told to all, +switch-master ◀────────────────────────┘
//
// Everything in it is guarded by cluster.mu, which the methods that are not exported need.
type sentinel struct {
	seat

	// The part that a sentinel writes into its file and knows after a restart.
	master       string
	epoch        int            // the newest that it has heard of
	config       int            // the epoch in which the master became one
	votes        map[int]string // for which sentinel it voted, by epoch
	lastFailover time.Time      // of any that it knows of

	seen       map[string]sighting  // what each data node last said
	doubts     map[string]time.Time // others that take themselves for masters or follow another, since when
	down       map[string]opinion   // what the other sentinels think of the master
	inquired   time.Time            // of the others
	published  time.Time
	switched   time.Time
	attempt    *attempt
	subscribed []sim.Line
	callers    map[sim.Line]*caller
	dialled    int // how many callers there were
}

// sighting is what a data node says of itself.
type sighting struct {
	at        time.Time
	following string
	online    bool
	offset    int64
}

type opinion struct {
	at   time.Time
	down bool
}

// attempt is a failover that this sentinel tries.
type attempt struct {
	epoch   int
	started time.Time
	elected map[string]bool
	chosen  string // being promoted
	since   time.Time
	looked  time.Time
	forced  bool   // by order: the master need not be down
	prefer  string // by order: this replica
}

// Messages between sentinels.
type (
	ping      struct{}
	pong      struct{ sighting }
	beMaster  struct{}
	beReplica struct{ of string }
	askDown   struct {
		master    string
		epoch     int
		candidate bool
	}
	saysDown struct {
		down  bool
		epoch int
		vote  string
	}
	hello struct {
		master        string
		config, epoch int
	}
)

var (
	_ sim.Server    = (*sentinel)(nil)
	_ sim.Directory = (*sentinel)(nil)
)

// Start is the start of its process. What it has written into its file it always keeps.
func (s *sentinel) Start(bool) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	if s.master == "" {
		s.master = s.cluster.data[0].Name
	}
	now := time.Now()
	s.seen, s.doubts, s.down = map[string]sighting{}, map[string]time.Time{}, map[string]opinion{}
	for _, n := range s.cluster.data {
		s.seen[n.Name] = sighting{at: now}
	}
	s.attempt, s.subscribed, s.inquired, s.published = nil, nil, time.Time{}, time.Time{}
	s.callers = map[sim.Line]*caller{}
	s.switched = now
}

// End and Resumed change nothing: it has a file, and what it has missed the others tell it.
func (s *sentinel) End()     {}
func (s *sentinel) Resumed() {}

// Ticks is how often it looks.
func (s *sentinel) Ticks() (least, most time.Duration) { return sentinelTickMin, sentinelTickMax }

// Tick is what a sentinel does ten times a second or more.
func (s *sentinel) Tick() {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	for _, n := range s.cluster.data {
		s.tell(&n.seat, ping{})
	}
	now := time.Now()
	if now.Sub(s.published) >= publishPeriod {
		s.publish(now)
	}
	s.watch(now)
	s.advance(now)
	s.mend(now)
}

// Hear is what others tell a sentinel.
func (s *sentinel) Hear(who int, talk any) {
	from := s.cluster.seats[who]
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	now := time.Now()
	switch talk := talk.(type) {
	case pong:
		talk.at = now
		s.seen[from.Name] = talk.sighting
	case hello:
		s.epoch = max(s.epoch, talk.epoch)
		if talk.config > s.config {
			s.config = talk.config
			s.attempt = nil
			s.switchTo(talk.master, now)
		}
	case askDown:
		s.tell(from, s.opine(from, talk, now))
	case saysDown:
		s.down[from.Name] = opinion{now, talk.down}
		if a := s.attempt; a != nil && talk.epoch == a.epoch && talk.vote == s.Name {
			a.elected[from.Name] = true
		}
	}
}

// isDown says whether a data node has been silent for too long.
func (s *sentinel) isDown(name string, now time.Time) bool {
	return now.Sub(s.seen[name].at) > downAfter
}

// opine answers another sentinel with its view, and with its vote if the other wants it.
func (s *sentinel) opine(from *seat, q askDown, now time.Time) saysDown {
	if q.candidate && q.master == s.master {
		s.epoch = max(s.epoch, q.epoch)
		if s.votes[q.epoch] == "" && q.epoch >= s.epoch {
			s.votes[q.epoch] = from.Name
			if s.attempt == nil {
				s.lastFailover = now.Add(s.desync(q.epoch))
			}
		}
	}
	return saysDown{q.master == s.master && s.isDown(s.master, now), q.epoch, s.votes[q.epoch]}
}

// watch looks whether the master is down, asks the others, and begins a failover.
func (s *sentinel) watch(now time.Time) {
	if !s.isDown(s.master, now) {
		return
	}
	if now.Sub(s.inquired) >= askPeriod {
		s.ask(now)
	}
	agree := 1
	for _, o := range s.down {
		if o.down && now.Sub(o.at) < answerFresh {
			agree++
		}
	}
	if agree >= quorum && s.attempt == nil && now.Sub(s.lastFailover) >= 2*failoverTimeout {
		s.begins(&attempt{}, now)
	}
}

// begins starts an attempt and votes for itself.
func (s *sentinel) begins(a *attempt, now time.Time) {
	s.epoch++
	a.epoch, a.elected = s.epoch, map[string]bool{s.Name: true}
	a.started = now.Add(s.desync(s.epoch))
	s.votes[s.epoch] = s.Name
	s.attempt, s.lastFailover = a, a.started
	s.ask(now)
}

func (s *sentinel) desync(epoch int) time.Duration {
	return time.Duration(s.cluster.host.Chance(fmt.Sprintf("desync/%s/%d", s.Name, epoch)).Int64N(int64(desyncMax)))
}

func (s *sentinel) ask(now time.Time) {
	s.inquired = now
	q := askDown{master: s.master, epoch: s.epoch, candidate: s.attempt != nil && s.attempt.chosen == ""}
	for _, n := range s.cluster.sentinels {
		if n != s {
			s.tell(&n.seat, q)
		}
	}
}

// advance takes the attempt a step on.
func (s *sentinel) advance(now time.Time) {
	a := s.attempt
	if a == nil {
		return
	}
	if a.chosen == "" {
		majority := len(s.cluster.sentinels)/2 + 1
		switch {
		case a.forced || len(a.elected) >= majority:
			s.choose(a, now)
		case now.Sub(a.started) > failoverTimeout:
			s.attempt = nil
		}
		return
	}
	if now.Sub(a.since) > 2*failoverTimeout {
		s.attempt = nil
		return
	}
	if now.Sub(a.looked) < lookPeriod {
		return
	}
	a.looked = now
	if seen := s.seen[a.chosen]; seen.at.After(a.since) && seen.following == "" {
		s.config = a.epoch
		s.attempt = nil
		s.switchTo(a.chosen, now)
		s.publish(now)
		for _, n := range s.cluster.data {
			if n.Name != s.master && !s.isDown(n.Name, now) && s.seen[n.Name].following != "" {
				s.tell(&n.seat, beReplica{s.master})
			}
		}
	}
}

// choose picks the replica that is furthest and orders it to be the master.
func (s *sentinel) choose(a *attempt, now time.Time) {
	var best *node
	for _, n := range s.cluster.data {
		seen := s.seen[n.Name]
		if n.Name == s.master || s.isDown(n.Name, now) || seen.following == "" {
			continue
		}
		if n.Name == a.prefer {
			best = n
			break
		}
		if best == nil || seen.offset > s.seen[best.Name].offset {
			best = n
		}
	}
	if best == nil {
		s.attempt = nil
		return
	}
	a.chosen, a.since, a.looked = best.Name, now, now
	s.tell(&best.seat, beMaster{})
}

// switchTo takes another node for the master and tells clients.
func (s *sentinel) switchTo(name string, now time.Time) {
	if name == s.master {
		return
	}
	old := s.master
	s.master, s.switched = name, now
	s.down = map[string]opinion{}
	clear(s.doubts)
	s.announce(old, name)
}

// publish tells the other sentinels.
func (s *sentinel) publish(now time.Time) {
	s.published = now
	for _, n := range s.cluster.sentinels {
		if n != s {
			s.tell(&n.seat, hello{s.master, s.config, s.epoch})
		}
	}
}

// mend tells nodes that follow another master, or none, to follow this one, if they
// have done so for a while and all else is well.
func (s *sentinel) mend(now time.Time) {
	well := s.attempt == nil && !s.isDown(s.master, now) && s.seen[s.master].following == "" && s.seen[s.master].at.After(s.switched)
	for _, n := range s.cluster.data {
		seen := s.seen[n.Name]
		if !well || n.Name == s.master || s.isDown(n.Name, now) || seen.following == s.master || !seen.at.After(s.switched) {
			delete(s.doubts, n.Name)
			continue
		}
		since, ok := s.doubts[n.Name]
		switch {
		case !ok:
			s.doubts[n.Name] = now
		case now.Sub(since) >= doubtPeriod:
			s.doubts[n.Name] = now
			s.tell(&n.seat, beReplica{s.master})
		}
	}
}

// tellSentinel answers a sentinel's ping.
func (n *node) tellSentinel(to *seat) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.tell(to, pong{sighting{following: n.following, online: n.online, offset: n.offset}})
}
