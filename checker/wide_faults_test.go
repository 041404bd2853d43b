package checker

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// fault begins or ends a fault, or kills a client.
func (g *wideRun) fault() {
	if g.calm {
		return
	}
	switch n := g.pick(10); {
	case n < 3 && len(g.open) > 0:
		i := g.pick(len(g.open))
		f := g.open[i]
		if g.odds(5) {
			g.struck(f, history.Bites)
			return
		}
		g.open = slices.Delete(g.open, i, i+1)
		if g.odds(4) {
			f.targets = nil
		}
		g.struck(f, history.Healed)
	case n < 5:
		g.steps++
		victim := g.clients[g.pick(len(g.clients))]
		f := wideFault{g.steps, "pause", []string{fmt.Sprintf("client-%d", victim.id)}}
		g.open = append(g.open, f)
		g.struck(f, history.Begins)
	case n == 5:
		g.steps++
		f := wideFault{g.steps, one(g, "pause", "kill", "cut"), []string{"redis-1"}}
		g.open = append(g.open, f)
		g.struck(f, history.Begins)
	case n < 9:
		if g.born < 8 {
			i := g.pick(len(g.clients))
			g.add(history.Event{Process: g.clients[i].process, Client: g.clients[i].id, Type: history.Info, F: history.Died})
			if g.lies > 0 && g.odds(2) { // the lock releases the dead client's holds too early
				id := g.clients[i].id
				g.service.all = slices.DeleteFunc(g.service.all, func(h wideHold) bool { return h.of.asked.Client == id })
			}
			g.clients = slices.Delete(g.clients, i, i+1)
			g.join()
		}
	default:
		if g.odds(2) {
			g.add(probe(said{master: "redis-2"}))
		} else {
			g.add(probe(said{stepped: 5 * time.Millisecond}))
		}
	}
}

func (g *wideRun) struck(f wideFault, phase string) {
	g.add(history.Event{Process: history.Nemesis, Type: history.Info, F: f.f,
		Step: f.step, Targets: f.targets, Phase: phase})
}

// look adds a fact of a probe, or a final read of a resource.
func (g *wideRun) look() {
	what := g.pick(7)
	if g.header.Claims.Fair && g.odds(2) {
		what = 1 // into the queue
	}
	switch what {
	case 0:
		g.quiet = !g.quiet
		g.add(probe(said{quiet: map[bool]string{true: "begins", false: "ends"}[g.quiet]}))
	case 1:
		var waiting []string
		for _, c := range g.clients {
			for _, k := range c.calls {
				if k.e.F == history.Acquire && k.e.Wait > 0 && !k.done {
					waiting = append(waiting, k.of.name)
				}
			}
		}
		if len(waiting) > 0 || g.odds(4) {
			g.add(probe(said{queued: append([]string{}, waiting...)}))
		}
	case 2, 3:
		if len(g.service.all) > 0 {
			h := g.service.all[g.pick(len(g.service.all))]
			left := max(0, h.until-g.now)
			if h.until == hold.Never {
				left = 3 * time.Second
			}
			if g.lie() {
				left = left/4 + time.Duration(g.pick(2))*30*time.Second
			}
			g.add(probe(said{kept: h.of.name, ttl: left}))
		}
	case 4:
		if !g.odds(4) {
			return
		}
		s := said{looked: true, left: []string{}}
		if g.odds(2) {
			s.left = []string{g.keys[0]}
		}
		if g.odds(3) {
			s.left = append(s.left, "latch")
		}
		if g.odds(2) {
			s.ending = slices.Clone(s.left)
		}
		g.add(probe(s))
	case 5:
		// A fact without a key means something only while no other key is requested. These facts name their keys, so that
		// they do not depend on unrelated events.
		e := history.Event{Process: 15, Client: 15, Type: history.Invoke, F: history.FRead, Key: g.keys[0], Resource: history.Plain}
		g.add(e)
		e.Type, e.Value = history.OK, new(g.values[e.Key+e.Resource])
		g.add(e)
	case 6:
		g.sent += 100 * g.pick(12)
		g.add(probe(said{counted: true, client: g.clients[0].id, sent: g.sent}))
	}
	if g.quiet && g.odds(3) {
		g.starve()
	}
}

// starve adds a new client whose attempts are refused often enough for the finding no-progress.
func (g *wideRun) starve() {
	process, client := g.fresh(), int32(16)
	for range 4 + g.pick(4) {
		e := history.Event{Process: process, Client: client, Type: history.Invoke, F: history.Acquire,
			Session: fmt.Sprintf("%d.%d", client, len(g.events)), Key: g.keys[0], TTL: time.Second}
		g.add(e)
		e.Type, e.Error, e.Key, e.TTL = history.Fail, history.ErrorTaken, "", 0
		g.now += 250 * time.Millisecond
		g.add(e)
	}
	if g.odds(3) {
		g.quiet = false
		g.add(probe(said{quiet: "ends"}))
	}
}
