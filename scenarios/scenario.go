package scenarios

import (
	"time"

	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// Version is the first line of every scenario.
const Version = "scenario/1"

// Scenario is a valid scenario.
type Scenario struct {
	Name     string             // of the file, without folder and suffix
	About    string             `yaml:"about" about:"what the scenario shows, in a few sentences"`
	Shows    []string           `yaml:"shows" about:"ids of docs/bugs.md"`
	Point    Point              `yaml:"point" about:"the event without which an episode does not count"`
	Locks    []LockUse          `yaml:"locks" about:"the locks that run"` // in the order of the file
	Servers  map[string]Servers // by service; see [Scenario.On]
	Workload Workload           `yaml:"workload" about:"what the clients do"`
	Episodes int                `yaml:"episodes" about:"how often the faults are injected and healed, 10000 at most"`
	Quiet    time.Duration      `yaml:"quiet" about:"how long clients continue undisturbed after each heal"`
	Limit    time.Duration      `yaml:"limit" about:"how long the whole run takes at most; it stops between episodes"`
	Faults   []nemesis.Step     `yaml:"faults" about:"the steps of one episode, from top to bottom"`
	NoFaults bool               // `faults: none`
	// Expect is indexed by LockUse.Name; for other locks see [Scenario.Expectation].
	Expect map[string]Expectation
	Source []byte              // the text
	file   string              // the name of the file, for errors
	where  map[string]position // of values in the text; see [reader]
}

// Servers are the servers of one service.
type Servers struct {
	Topology Topology          `yaml:"topology" about:"what the servers of each family of locks form"`
	Settings map[string]string `yaml:"settings" about:"settings of the servers, from lockbench list settings"`
}

// Topology is the topology for each family of locks.
type Topology struct {
	SingleStore locks.Topology // one with a leader
	Majority    locks.Topology // one whose nodes are all leaders
	Masters     int            // number of masters in Majority
}

// Workload is the work of the clients.
type Workload struct {
	Name    string
	Clients int           `yaml:"clients" about:"how many clients compete for each lock; each world has a limit"`
	Keys    int           `yaml:"keys" about:"how many keys they compete for, 10000 at most"`
	Names   KeyNames      `yaml:"names" about:"the names of the keys: a, b, c, or names of several lengths with braces, blanks and letters outside ASCII"`
	TTL     time.Duration `yaml:"ttl" about:"the requested lease; 0s: the lock's own, renewed for as long as it is held"`
	Wait    time.Duration `yaml:"wait" about:"how long an acquire may wait; 0s: it tries once"`
	Hold    nemesis.Range `yaml:"hold" about:"how long a lock is held, drawn for each hold"`
	Think   nemesis.Range `yaml:"think" about:"how long a client pauses between two turns, drawn for each pause"`
}

// The defaults of a scenario.
const (
	DefaultWorkload = "counter"
	DefaultClients  = 8
	DefaultKeys     = 4
	DefaultTTL      = 8 * time.Second
	DefaultHoldMin  = 5 * time.Millisecond
	DefaultHoldMax  = 50 * time.Millisecond
	DefaultEpisodes = 3
	DefaultQuiet    = 2 * time.Second
	DefaultLimit    = 60 * time.Second
	DefaultMasters  = 5
)

// The limits of a scenario, also for flags. Each world also limits the number of clients ([Scenario.Within]).
const (
	// EpisodesMax limits a run to some hours. The plan of all episodes is drawn and written before the first.
	EpisodesMax = 10_000
	// KeysMax exceeds the number of keys that clients can compete for.
	KeysMax = 10_000
	// RunMax limits whole runs; nemesis.DurationMax limits parts of an episode.
	RunMax = 30 * 24 * time.Hour
)

// defaults returns a scenario with all defaults.
func defaults() *Scenario {
	return &Scenario{
		Servers: map[string]Servers{},
		Workload: Workload{
			Name: DefaultWorkload, Clients: DefaultClients, Keys: DefaultKeys, Names: Letters, TTL: DefaultTTL,
			Hold:  nemesis.Range{From: DefaultHoldMin, To: DefaultHoldMax},
			Think: nemesis.Range{From: workloads.ThinkMin, To: workloads.ThinkMax},
		},
		Episodes: DefaultEpisodes, Quiet: DefaultQuiet, Limit: DefaultLimit,
	}
}

// On returns the servers of a service. The default for a service that the scenario does not
// name is the topology of the first service: see [Topology.like].
func (s *Scenario) On(name string) Servers {
	on, said := s.Servers[name]
	if said {
		return on
	}
	on = defaultServers()
	all := services.All()
	if to, known := find(all, serviceName, name); known && name != all[0].Name {
		on.Topology = s.On(all[0].Name).Topology.like(all[0], to)
	}
	return on
}

// like translates a topology of one service to another service: to the topology of the same
// name, or to the first that also has followers or has none, and that also survives the loss
// of its leader or does not.
func (t Topology) like(from, to *service.Service) Topology {
	led, known := service.Find(from, t.SingleStore)
	if _, same := service.Find(to, t.SingleStore); same || !known {
		return t
	}
	for _, other := range to.Topologies {
		if other.Leads == service.EachLeads || other.Follows() != led.Follows() {
			continue
		}
		if other.Outlives == led.Outlives {
			t.SingleStore = other.Name
			break
		}
		if t.SingleStore == led.Name {
			t.SingleStore = other.Name // unless another is better
		}
	}
	return t
}

func defaultServers() Servers {
	return Servers{Topology: Topology{SingleStore: locks.Single, Majority: locks.Independent, Masters: DefaultMasters}}
}

// WorkFor returns the workload of one lock: the scenario's, with the lock's own settings
// (`set-nx/ttl=2s`), and the wait of its entry in the catalog if there is no other.
func (s *Scenario) WorkFor(u LockUse) Workload {
	w := s.Workload
	if u.TTL != nil {
		w.TTL = *u.TTL
	}
	if u.Wait != nil {
		w.Wait = *u.Wait
	} else if entry, _ := u.Entry(); w.Wait == 0 {
		w.Wait = entry.Wait
	}
	if u.Hold != nil {
		w.Hold = *u.Hold
	}
	if u.Clients > 0 {
		w.Clients = u.Clients
	}
	return w
}

// ServersFor returns the servers of one lock on a service: the scenario's, with the lock's own
// settings (`redlock/nodes=3`).
func (s *Scenario) ServersFor(u LockUse, service string) Servers {
	on := s.On(service)
	if u.Nodes > 0 {
		on.Topology.Masters = u.Nodes
	}
	return on
}

// named returns the topology that the scenario names for a family of locks.
func (t Topology) named(f locks.Family) locks.Topology {
	switch f {
	case locks.Majority:
		return t.Majority
	case locks.Control:
		return locks.None
	}
	return t.SingleStore
}

// Find returns the topology of a family on a service.
func (t Topology) Find(f locks.Family, s *service.Service) (service.Topology, bool) {
	found, ok := service.Find(s, t.named(f))
	if f == locks.Majority {
		found = found.Sized(t.Masters)
	}
	return found, ok
}

// Expectation returns the expectation for a lock, by its LockUse.Name. If the scenario does not name the lock, its entry
// in the catalog decides: see [catalog.Lock.Like]. The expectation of a lock with options (`set-nx/ttl=2s`) is that of the
// lock without them, unless it is named itself.
func (s *Scenario) Expectation(name string) Expectation {
	e, _ := s.expectation(name)
	return e
}

// expectation also reports whether the scenario names the lock, or one that it is compared with.
func (s *Scenario) expectation(name string) (e Expectation, named bool) {
	if e, named = s.Expect[name]; named {
		return e, true
	}
	u := Called(name)
	if e, named = s.Expect[u.Use]; named {
		e.Of = u.Use
		return e, true
	}
	switch l, _ := u.Entry(); {
	case l.Like != "":
		e, named = s.expectation(l.Like)
		e.Of = l.Like
	case l.Broken:
		e.Verdict = Violated
	case l.Wrong != nil: // whatever a mutant shows is no news
		e.Verdict = Unjudged
	default:
		e.Verdict = Valid
	}
	return e, named
}
