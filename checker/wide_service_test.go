package checker

import (
	"slices"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// wideService is the state of the lock: its holders and the ends of their leases.
type wideService struct {
	all  []wideHold
	last uint64 // token
}

type wideHold struct {
	of    *wideSession
	from  time.Duration
	until time.Duration // hold.Never if the lease does not end or is renewed
}

func (s *wideSession) keys() []string {
	if s.asked.Key != "" {
		return []string{s.asked.Key}
	}
	return s.asked.Keys
}

func (v *wideService) holds(s *wideSession, now time.Duration) bool {
	return slices.ContainsFunc(v.all, func(h wideHold) bool { return h.of == s && now < h.until })
}

func (v *wideService) since(s *wideSession) time.Duration {
	for _, h := range v.all {
		if h.of == s {
			return h.from
		}
	}
	return s.asked.Time
}

// fits reports whether a session may hold together with the current holders.
func (v *wideService) fits(s *wideSession, header history.Header, now time.Duration) bool {
	for _, key := range s.keys() {
		for _, h := range v.all {
			if now >= h.until || !slices.Contains(h.of.keys(), key) {
				continue
			}
			readers := s.asked.Mode == locks.Shared && h.of.asked.Mode == locks.Shared
			again := header.Model.Has(history.Reentrant) && s.owner == h.of.owner
			if !readers && !again {
				return false
			}
		}
	}
	return true
}

// do lets an operation under way take effect or fail.
func (g *wideRun) do(k *wideCall) {
	v := &g.service
	k.done = true
	switch k.e.F {
	case history.Acquire:
		k.works = v.fits(k.of, g.header, g.now) != g.lie()
		if !k.works {
			return
		}
		h := wideHold{k.of, g.now, hold.Never}
		if k.e.TTL > 0 {
			h.until = g.now + k.e.TTL
		}
		v.all = append(v.all, h)
		if g.header.Claims.Fenced {
			v.last++
			g.tokens[k.of.name] = v.last
		}
	case history.Release:
		k.works = v.holds(k.of, g.now) != g.lie()
		if k.works {
			v.all = slices.DeleteFunc(v.all, func(h wideHold) bool { return h.of == k.of })
		}
	case history.Renew:
		k.works = v.holds(k.of, g.now) != g.lie()
		for i := range v.all {
			if h := &v.all[i]; k.works && h.of == k.of && k.e.TTL > 0 {
				h.until = g.now + k.e.TTL
			}
		}
	case history.Check:
		k.works = v.holds(k.of, g.now) != g.lie()
	case history.FRead:
		k.works = true
	case history.Write:
		thing := slices.Min(k.of.keys()) + k.e.Resource
		k.works = true
		if k.e.Resource == history.Fenced {
			k.works = *k.e.Token >= g.tokens[thing] || g.lies > 0 && !g.odds(3)
			g.tokens[thing] = max(g.tokens[thing], *k.e.Token)
		}
		if k.works && k.e.Value != nil {
			g.values[thing] = *k.e.Value
		}
	}
}
