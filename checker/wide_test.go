package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// wide draws a history that uses the whole format: all models, owners with several sessions, several keys, leases
// that end, are renewed, or do not end, concurrent calls, notices of losses, deaths, pauses, faults on servers, and facts of
// probes. The lock keeps its state in a wideService and mostly answers correctly. The rate of wrong answers is drawn once
// for each history, so that many histories are valid and many are not.
func wide(r *rand.Rand) *history.History {
	g := newWide(r)
	for range 1 + g.pick(56) {
		g.now += one[time.Duration](g, 0, 1, 1, 3, 7, 100, 100, 300, 700, 1500, 4000) * time.Millisecond
		g.move()
	}
	h, err := history.Build(g.header, g.events)
	if err != nil {
		panic(fmt.Sprintf("the generator made a malformed history: %v\n%s", err, lines(&history.History{Events: g.events})))
	}
	return h
}

// wideRun is a history that is being drawn.
type wideRun struct {
	r       *rand.Rand
	header  history.Header
	events  []history.Event
	now     time.Duration
	lies    int // one answer in lies is wrong; 0: none
	leases  []string
	keys    []string
	owned   bool // clients name owners
	waits   bool
	checks  bool // the resource checks tokens
	counted bool // writes write the value read plus one
	calm    bool // no faults
	focus   int  // the kind of events that is more frequent, or 0
	service wideService
	clients []*wideClient
	next    history.Process // never used before
	born    int32           // clients so far
	steps   int
	open    []wideFault
	quiet   bool
	values  map[string]int64 // values of the resources
	tokens  map[string]uint64
	sent    int
}

// The possible focus; the zero value is none.
const (
	onFaults = 1 + iota
	onProbes
	onGuarded // reads and writes of the resource
)

type wideFault struct {
	step    int
	f       string
	targets []string
}

func newWide(r *rand.Rand) *wideRun {
	g := &wideRun{r: r, next: 20, values: map[string]int64{}, tokens: map[string]uint64{}}
	h := &g.header
	switch g.pick(8) {
	case 0, 1:
		h.Model = history.Model{history.Mutex}
	case 2, 3:
		h.Model = history.Model{history.Mutex, history.Reentrant}
	case 4, 5:
		h.Model = history.Model{history.RW}
	case 6, 7: // no word, which means mutex
	}
	if !h.Model.Has(history.RW) && g.odds(4) {
		h.Model = append(h.Model, history.Fenced)
	}
	h.Claims = locks.Claims{Strict: g.odds(2), Fair: g.odds(4), Renewed: g.odds(4), Fenced: h.Model.Has(history.Fenced) || g.odds(8)}
	g.leases = one(g, []string{"none"}, []string{"none"}, []string{"bounded"}, []string{"bounded"}, []string{"renewed"}, []string{"none", "bounded", "renewed"})
	h.Claims.Renewed = h.Claims.Renewed || slices.Contains(g.leases, "renewed")
	g.lies = one(g, 0, 20, 6, 3)
	g.keys = []string{"a", "b", "c"}[:1+g.pick(3)]
	g.owned = h.Model.Has(history.Reentrant) || g.odds(4)
	g.waits, g.counted, g.calm = h.Claims.Fair || g.odds(2), !g.odds(6), g.odds(3)
	g.checks = !g.odds(3)
	g.focus = g.pick(5)
	for range 2 + g.pick(3) {
		g.join()
	}
	return g
}

// pick draws a number below n.
func (g *wideRun) pick(n int) int { return g.r.IntN(n) }

// odds returns true with probability 1/n.
func (g *wideRun) odds(n int) bool { return g.pick(n) == n-1 }

// one draws one of the values.
func one[T any](g *wideRun, of ...T) T { return of[g.pick(len(of))] }

func (g *wideRun) add(e history.Event) {
	e.Index, e.Time = len(g.events), g.now
	g.events = append(g.events, e)
}

// wideClient is a client with its sessions and its calls under way.
type wideClient struct {
	id       int32
	process  history.Process
	owner    string
	attempts int
	sessions []*wideSession
	calls    []*wideCall
}

type wideSession struct {
	name     string
	owner    string
	asked    history.Event
	granted  history.Event
	outcome  history.Outcome
	refused  bool
	answered bool
	read     map[string]int64
}

// wideCall is an operation under way, which may have taken effect already.
type wideCall struct {
	process history.Process
	of      *wideSession
	e       history.Event // its invocation
	done    bool
	works   bool
	at      time.Duration
}

func (g *wideRun) join() {
	c := &wideClient{id: g.born, process: g.fresh()}
	g.born++
	if g.owned && !g.odds(4) {
		c.owner = fmt.Sprintf("owner-%d", c.id)
	}
	g.clients = append(g.clients, c)
}

func (g *wideRun) fresh() history.Process {
	g.next++
	return g.next
}

func (g *wideRun) move() {
	switch n := g.pick(16); {
	case n == 15 || n >= 13 && g.focus == onFaults:
		g.fault()
		return
	case n == 14 || n >= 12 && g.focus == onProbes:
		g.look()
		return
	}
	c := g.clients[g.pick(len(g.clients))]
	if g.header.Claims.Fair && !g.odds(3) {
		// Clients call while others wait, so that there is a queue.
		for _, idle := range g.clients {
			if len(idle.calls)+len(idle.sessions) == 0 {
				c = idle
			}
		}
	}
	if len(c.calls) > 0 && (len(c.calls) > 1 || !g.odds(5)) {
		g.answer(c, g.pick(len(c.calls)))
		return
	}
	var held []*wideSession
	for _, s := range c.sessions {
		if s.answered && !s.refused {
			held = append(held, s)
		}
	}
	inside := g.owned && c.owner != ""
	asking := slices.ContainsFunc(c.calls, func(k *wideCall) bool { return k.e.F == history.Acquire })
	if len(held) == 0 || g.odds(map[bool]int{true: 4, false: 10}[inside]) {
		if !asking {
			g.ask(c)
		}
		return
	}
	g.use(c, held[len(held)-1-g.pick(min(2, len(held)))])
}

// ask begins a session with an acquire.
func (g *wideRun) ask(c *wideClient) {
	c.attempts++
	s := &wideSession{name: fmt.Sprintf("%d.%d", c.id, c.attempts), owner: c.owner, read: map[string]int64{}}
	e := history.Event{Process: c.process, Client: c.id, Type: history.Invoke, F: history.Acquire, Session: s.name, Time: g.now}
	if len(c.calls) > 0 {
		e.Process = g.fresh() // another thread
	}
	e.Owner = c.owner
	if s.owner == "" {
		s.owner = s.name
	}
	switch n := g.pick(len(g.keys) + 1); {
	case n < len(g.keys):
		e.Key = g.keys[n]
	case len(g.keys) > 1 && g.odds(2):
		e.Keys = slices.Clone(g.keys[:2])
		if g.odds(3) {
			slices.Reverse(e.Keys)
		}
	default:
		e.Key = "a"
	}
	if g.header.Model.Has(history.RW) && g.odds(2) {
		e.Mode = locks.Shared
	}
	if g.leases[g.pick(len(g.leases))] == "bounded" {
		e.TTL = one[time.Duration](g, 300, 1000, 2000, 10_000) * time.Millisecond
	}
	if g.waits && g.odds(2) {
		e.Wait = one[time.Duration](g, 1000, 10_000) * time.Millisecond
	}
	s.asked = e
	c.sessions = append(c.sessions, s)
	g.call(c, s, e)
}

// use calls an operation under a session that was granted, or may have been.
func (g *wideRun) use(c *wideClient, s *wideSession) {
	e := history.Event{Process: c.process, Client: c.id, Type: history.Invoke, Session: s.name, F: history.Release}
	if len(c.calls) > 0 || g.odds(12) {
		e.Process = g.fresh() // a second thread
	}
	if s.outcome == history.Done {
		e.F = one(g, history.Release, history.Release, history.Release, history.Check,
			history.Renew, history.FRead, history.Write, history.Lost)
		if g.focus == onGuarded && !g.odds(3) {
			e.F = one(g, history.Write, history.FRead)
		}
	}
	thing := slices.Min(s.keys())
	switch e.F {
	case history.Lost:
		if g.service.holds(s, g.now) && !g.lie() {
			return
		}
		e.Type, e.Process = history.Info, c.process
		g.add(e)
		return
	case history.Renew:
		if s.asked.TTL > 0 {
			e.TTL = one[time.Duration](g, 1, 1, 3) * s.asked.TTL
		}
	case history.FRead, history.Write:
		e.Resource = history.Plain
		if s.granted.Token != nil {
			if g.checks {
				e.Resource = history.Fenced
			}
			e.Token = new(*s.granted.Token)
			if g.lie() {
				*e.Token++
			}
		}
		seen, ok := s.read[thing+e.Resource]
		switch {
		case e.F == history.FRead:
		case ok:
			e.Value = new(seen + 1)
		case g.counted:
			e.F = history.FRead
		default:
			if g.odds(2) {
				e.Value = new(int64(g.pick(5)))
			}
		}
	}
	g.call(c, s, e)
}

func (g *wideRun) call(c *wideClient, s *wideSession, e history.Event) {
	c.calls = append(c.calls, &wideCall{process: e.Process, of: s, e: e, at: g.now})
	g.add(e)
}

// lie reports whether the next answer is wrong.
func (g *wideRun) lie() bool { return g.lies > 0 && g.odds(g.lies) }

// answer lets a call take effect, or returns it.
func (g *wideRun) answer(c *wideClient, i int) {
	k := c.calls[i]
	if !k.done {
		if k.e.F == history.Acquire && k.e.Wait > 0 && g.now < k.at+k.e.Wait && !g.service.fits(k.of, g.header, g.now) && !g.lie() {
			return // it continues to wait
		}
		g.do(k)
		if g.odds(4) {
			return // the answer is on its way
		}
	}
	c.calls = slices.Delete(c.calls, i, i+1)
	e := history.Event{Process: k.process, Client: c.id, F: k.e.F, Session: k.of.name, Type: history.Fail}
	if k.e.F == history.Write || k.e.F == history.FRead {
		e.Resource, e.Token, e.Value = k.e.Resource, k.e.Token, k.e.Value
	}
	switch {
	case g.odds(9):
		e.Type, e.Error = history.Info, "timeout"
		if k.process == c.process {
			c.process = g.fresh()
		}
		if c.owner != "" {
			c.owner = fmt.Sprintf("owner-%d-%d", c.id, len(g.events)) // an owner with an unknown outcome is not used again
		}
	case k.works:
		e.Type = history.OK
		g.granted(k, &e)
	default:
		e.Error = map[string]string{history.Acquire: history.ErrorTaken, history.Check: history.ErrorLost,
			history.Write: history.ErrorStaleToken, history.FRead: "refused"}[k.e.F]
		if e.Error == "" {
			e.Error = history.ErrorNotHeld
		}
		if k.e.F == history.Acquire {
			e.Strict = g.header.Claims.Strict
		} else if g.lie() {
			e.Error = one(g, history.ErrorLost, "bad-request")
		}
	}
	if k.e.F == history.Acquire {
		k.of.answered, k.of.refused = true, e.Type == history.Fail
		if e.Type == history.OK {
			k.of.outcome, k.of.granted = history.Done, e
		}
	}
	g.add(e)
}

// granted fills in the fields of an acquire that returns ok.
func (g *wideRun) granted(k *wideCall, e *history.Event) {
	thing := slices.Min(k.of.keys()) + k.e.Resource
	lease := k.e.TTL
	switch k.e.F {
	case history.Acquire:
		if g.tokens[k.of.name] > 0 {
			e.Token = new(g.tokens[k.of.name])
			if g.lie() {
				e.Token = new(uint64(max(1, int64(*e.Token)-1-int64(g.pick(3)))))
			}
		}
		if k.of.asked.TTL == 0 && slices.Contains(g.leases, "renewed") && (len(g.leases) == 1 || g.odds(2)) {
			e.Renewed, e.Lease = true, 3*time.Second
		}
	case history.FRead:
		e.Value = new(g.values[thing])
		if g.lie() {
			e.Value = new(max(0, *e.Value-1))
		}
		k.of.read[thing] = *e.Value
	case history.Write:
		if k.e.Value != nil {
			k.of.read[thing] = *k.e.Value
		}
	}
	if (k.e.F == history.Acquire || k.e.F == history.Renew) && lease > 0 && !g.odds(3) {
		e.Until = new(lease)
		if k.e.Wait > 0 {
			*e.Until += g.service.since(k.of) - k.at
		}
	}
}
