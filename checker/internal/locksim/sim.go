package locksim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trace is the result of a plan.
type Trace struct {
	Text   string // the history, in the notation of the golden files
	Wrongs int    // the number of actions that a correct lock would not have done
}

// sim is a plan in execution.
type sim struct {
	plan     Plan
	clock    clock
	server   *server
	clients  []*client
	counters map[string]*counter
	lines    []string
	retired  map[int]int // the number of owner names that each client has given up
}

// counter is the guarded resource. A resource that checks tokens refuses tokens below the highest that it has seen.
type counter struct {
	value   int64
	highest uint64
}

// horizon is the time at which every simulation ends.
const horizon = 200 * time.Second

// Run executes the plan.
func (p Plan) Run() Trace {
	x := p.start()
	x.clock.run(horizon)
	if n := p.Lines; n > 0 && n < len(x.lines) {
		x.lines = x.lines[:n]
	}
	return Trace{Text: "header " + p.Lock.header() + "\n" + strings.Join(x.lines, "\n") + "\n", Wrongs: x.server.wrongs}
}

// start creates the clients, the faults and the probes.
func (p Plan) start() *sim {
	x := &sim{plan: p, counters: map[string]*counter{}, retired: map[int]int{}}
	x.server = &server{clock: &x.clock, lock: p.Lock, freed: map[*session]bool{}}
	for step, f := range p.Faults {
		x.strike(step+1, f)
	}
	if q := p.Quiet; q.Ends > 0 {
		x.clock.at(q.Begins, func() { x.tell("probe quiet=begins") })
		x.clock.at(q.Ends, func() { x.tell("probe quiet=ends") })
	}
	for i, script := range p.Clients {
		c := &client{x: x, n: i + 1, script: script, process: i + 1, sessions: map[int]*session{}}
		x.clients = append(x.clients, c)
		c.onwards()
	}
	return x
}

// header returns the header of the history in JSON.
func (l Lock) header() string {
	claims := map[string]bool{}
	for word, claimed := range map[string]bool{"strict": l.Strict, "fair": l.Fair, "renewed": l.Renewed > 0, "watched": l.Watched, "fenced": l.Fenced} {
		if claimed {
			claims[word] = true
		}
	}
	h := map[string]any{"model": l.Model}
	if len(claims) > 0 {
		h["claims"] = claims
	}
	data, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings, booleans and a number
	}
	return string(data)
}

// tell writes a line of the history.
func (x *sim) tell(format string, args ...any) {
	x.lines = append(x.lines, fmt.Sprintf("%.3f ", x.clock.now.Seconds())+fmt.Sprintf(format, args...))
}

// strike injects a fault. Its first event comes before the fault takes effect, and the event of the heal after the heal.
func (x *sim) strike(step int, f Fault) {
	var name, target string
	switch f.Kind {
	case Pause:
		name, target = "pause", fmt.Sprintf("client-%d", f.Client)
	case Cut:
		name, target = "partition", "node-1"
		if f.Client > 0 {
			target = fmt.Sprintf("client-%d", f.Client)
		}
	case Crash:
		name, target = "kill", "node-1"
		x.clock.at(f.From+f.Lag, x.server.crash)
	case Death:
		x.kill(f)
		return
	}
	x.clock.at(f.From, func() { x.tell("nemesis %s begins step=%d targets=%s", name, step, target) })
	x.clock.at(f.From+f.Lag, func() { x.tell("nemesis %s bites step=%d targets=%s", name, step, target) })
	x.clock.at(f.To+f.Lag, func() { x.tell("nemesis %s healed step=%d targets=%s", name, step, target) })
}

// kill ends a client. The event of the death comes before the death, or when the death is noticed.
func (x *sim) kill(f Fault) {
	told, dead := f.From, f.From
	if f.To > f.From {
		dead = f.To
	} else {
		told += f.Lag
	}
	victim := func() *client {
		if f.Client > len(x.clients) {
			return nil
		}
		return x.clients[f.Client-1]
	}
	x.clock.at(told, func() {
		if c := victim(); c != nil {
			x.tell("c%d died", c.n)
			c.silent = true
		}
	})
	x.clock.at(dead, func() {
		if c := victim(); c != nil {
			c.silent, c.dead = true, true
			x.clock.after(time.Millisecond, func() { x.server.died(c) })
		}
	})
}

// cut reports whether a client is cut off from the servers.
func (x *sim) cut(n int) bool {
	return slices.ContainsFunc(x.plan.Faults, func(f Fault) bool {
		return (f.Kind == Crash || f.Kind == Cut && (f.Client == 0 || f.Client == n)) && f.From+f.Lag <= x.clock.now && x.clock.now < f.To
	})
}

// awake returns the next time at which the client is not paused.
func (x *sim) awake(n int) time.Duration {
	t := x.clock.now
	for again := true; again; {
		again = false
		for _, f := range x.plan.Faults {
			if f.Kind == Pause && f.Client == n && f.From+f.Lag <= t && t < f.To {
				t, again = f.To, true
			}
		}
	}
	return t
}

// paused reports whether the client is paused at some time in the next d.
func (x *sim) paused(n int, d time.Duration) bool {
	return slices.ContainsFunc(x.plan.Faults, func(f Fault) bool {
		return f.Kind == Pause && f.Client == n && f.From <= x.clock.now+d && x.clock.now < f.To+f.Lag
	})
}

// trip delivers a request or an answer over the network.
func (x *sim) trip(n int, d time.Duration, lost bool, arrive func()) {
	if lost || x.cut(n) {
		return
	}
	x.clock.after(d, func() {
		if !x.cut(n) {
			arrive()
		}
	})
}

// exact reports whether clients know the true end of their holds. Clients of a correct lock do, so that no client works while
// another one holds.
func (x *sim) exact() bool { return x.plan.Lock.Mistake == None && !x.plan.Lock.Careless }

// lasts reports whether the server keeps a session's hold for that much longer.
func (x *sim) lasts(s *session, d time.Duration) bool {
	h := x.server.holdOf(s)
	return h != nil && (h.end == never || x.clock.now+d < h.end+x.server.lock.Linger)
}
