package simredis

import (
	"fmt"
	"time"

	"lockbench/internal/virtual/sim"
)

// The times of a sentinel. Those that can be configured are equal to those of world local, and the others are constants of
// Redis.
const (
	// A sentinel checks every server after a random one of these periods: three sentinels that check at
	// the same time would see the same, all stand for election, and split the votes.
	sentinelTickMin = 50 * time.Millisecond
	sentinelTickMax = 100 * time.Millisecond
	downAfter       = 500 * time.Millisecond // silence after which a server counts as down
	askPeriod       = time.Second            // between questions to other sentinels
	answerFresh     = 5 * time.Second        // the life of an answer of another sentinel
	publishPeriod   = 500 * time.Millisecond // for announcements of the master to the other sentinels
	failoverTimeout = 2 * time.Second        // the limit of an election and of a promotion
	desyncMax       = time.Second            // the bound of a random delay, so that two sentinels do not collide again and again
	lookPeriod      = time.Second            // between checks of the server that is being promoted
	doubtPeriod     = 4 * publishPeriod      // how long a sentinel tolerates a second master
	quorum          = 2
)

// sentinel is a model of Redis Sentinel. It watches the data nodes, promotes a replica when the master is down, and sends its
// messages over the simulated network.
//
//	watching ──down for itself and for a quorum──▶ election ──majority──▶ promotion
//	   ▲                                              │                       │
//	   ├─────────── abandoned after failoverTimeout ──┴───────────────────────┤
//	   └─────────── announced to all, +switch-master ─────────────────────────┘
//
// cluster.mu guards all fields. Callers of unexported methods must hold it.
type sentinel struct {
	seat

	// The fields that a sentinel writes to its file and keeps across restarts.
	master       string
	epoch        int            // the newest known epoch
	config       int            // the epoch in which the current master was promoted
	votes        map[int]string // by epoch: the sentinel for which it voted
	lastFailover time.Time      // the time of the last known failover

	seen      map[string]sighting  // the last answer of each data node
	doubts    map[string]time.Time // since when other nodes consider themselves masters or follow another node
	down      map[string]opinion   // the opinions of the other sentinels about the master
	inquired  time.Time            // of the others
	published time.Time
	switched  time.Time
	attempt   *attempt
	audience  audience
}

// sighting is the state of a data node as the node reports it.
type sighting struct {
	at        time.Time
	following string
	online    bool
	offset    int64
	priority  int
}

type opinion struct {
	at   time.Time
	down bool
}

// attempt is a failover of this sentinel.
type attempt struct {
	epoch   int
	started time.Time
	elected map[string]bool
	chosen  string // the replica that is being promoted
	since   time.Time
	looked  time.Time
	forced  bool // ordered; the master need not be down
}

// Messages of sentinels. A node answers a ping by its [sighting].
type (
	ping    struct{}
	order   struct{ follow string } // empty: become the master
	askDown struct {
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

// Start starts the process. It keeps the fields of its file.
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
	s.attempt, s.inquired, s.published = nil, time.Time{}, time.Time{}
	s.audience = audience{sentinel: s, callers: map[sim.Line]*caller{}, dialled: s.audience.dialled}
	s.switched = now
}

// End and Resumed change nothing. The sentinel has its file and gets missed news from the others.
func (s *sentinel) End()     {}
func (s *sentinel) Resumed() {}

// LosePower forgets nothing: a sentinel syncs its file.
func (s *sentinel) LosePower() string { return "had synced its file" }

// Ticks returns the period of Tick.
func (s *sentinel) Ticks() (least, most time.Duration) { return sentinelTickMin, sentinelTickMax }

// Tick is called ten times a second or more.
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

// Hear handles a message from another server.
func (s *sentinel) Hear(who int, talk any) {
	from := s.cluster.seats[who]
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	now := time.Now()
	switch talk := talk.(type) {
	case sighting:
		talk.at = now
		s.seen[from.Name] = talk
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

// isDown reports whether a data node has been silent for too long.
func (s *sentinel) isDown(name string, now time.Time) bool {
	return now.Sub(s.seen[name].at) > downAfter
}

// opine sends its opinion to another sentinel, and its vote if requested.
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

// watch checks whether the master is down, queries the other sentinels, and begins a failover.
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

// advance continues the attempt.
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
				s.tell(&n.seat, order{follow: s.master})
			}
		}
	}
}

// choose selects the replica with the lowest priority, of equals the one with the highest offset, and orders it to become
// the master.
func (s *sentinel) choose(a *attempt, now time.Time) {
	var best *node
	for _, n := range s.cluster.data {
		seen := s.seen[n.Name]
		if n.Name == s.master || s.isDown(n.Name, now) || seen.following == "" {
			continue
		}
		if best != nil {
			other := s.seen[best.Name]
			if seen.priority > other.priority || seen.priority == other.priority && seen.offset <= other.offset {
				continue
			}
		}
		best = n
	}
	if best == nil {
		s.attempt = nil
		return
	}
	a.chosen, a.since, a.looked = best.Name, now, now
	s.tell(&best.seat, order{})
}

// switchTo changes the master and notifies clients.
func (s *sentinel) switchTo(name string, now time.Time) {
	if name == s.master {
		return
	}
	old := s.master
	s.master, s.switched = name, now
	s.down = map[string]opinion{}
	clear(s.doubts)
	s.audience.announce(old, name)
}

// publish announces the master to the other sentinels.
func (s *sentinel) publish(now time.Time) {
	s.published = now
	for _, n := range s.cluster.sentinels {
		if n != s {
			s.tell(&n.seat, hello{s.master, s.config, s.epoch})
		}
	}
}

// mend orders nodes to follow the master if they have followed another node, or none, for a while and everything else is
// healthy.
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
			s.tell(&n.seat, order{follow: s.master})
		}
	}
}
