package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// workload generates the history of a lock for which clients compete. All of them wait, and are granted the lock one after
// the other. A share of the answers is lost, and a share of the tries is refused.
type workload struct {
	ops, clients int
	unknown, try float64
	strict       bool
	shared       bool
	m            Model
	spread       int // positions between events, for events of other locks
}

func (w workload) history(r *rand.Rand) *Ops {
	o := &Ops{}
	pos := uint32(0)
	tick := func() uint32 { pos += uint32(1 + r.IntN(w.spread)); return pos }
	session := uint32(0)
	var waiting []int                     // operations
	var holding []int                     // acquires
	fresh := false                        // no session has been released since the last grant
	enters := func(owner uint32) uint32 { // a session of an owner
		if w.m.Reentrant {
			o.Owners = append(o.Owners, owner)
		}
		session++
		return session - 1
	}
	for len(o.All) < w.ops {
		for len(waiting)+len(holding) < w.clients {
			k := Acquire
			if w.shared && r.IntN(4) > 0 {
				k = AcquireShared
			}
			waiting = append(waiting, len(o.All))
			o.All = append(o.All, Op{tick(), Never, enters(session), k, Unknown})
		}
		shut := len(holding) > 0
		if shut && r.Float64() < w.try { // refused at once
			i := r.IntN(len(waiting))
			at := waiting[i]
			waiting = append(waiting[:i], waiting[i+1:]...)
			o.All[at].Out, o.All[at].Ret = Fail, tick()
			if w.strict {
				o.All[at].Out = StrictFail
			}
			continue
		}
		shared := len(holding) > 0 && o.All[holding[0]].Kind == AcquireShared
		i := r.IntN(len(waiting))
		at := waiting[i]
		if len(holding) == 0 || w.shared && shared && o.All[at].Kind == AcquireShared {
			waiting = append(waiting[:i], waiting[i+1:]...)
			if r.Float64() < w.unknown { // its client is gone, and so is its hold
				continue
			}
			o.All[at].Out, o.All[at].Ret = OK, tick()
			holding, fresh = append(holding, at), true
			continue
		}
		// With a reentrant lock these belong to one owner, and the last is released first.
		last := 0
		if w.m.Reentrant {
			last = len(holding) - 1
			if at = holding[last]; len(holding) < 3 && r.IntN(2) == 0 {
				holding = append(holding, len(o.All))
				o.All = append(o.All, Op{tick(), tick(), enters(o.Owners[o.All[at].Session]), Acquire, OK})
				continue
			}
		}
		at = holding[last]
		if r.Float64() < w.unknown && fresh {
			o.All = append(o.All, Op{tick(), Never, o.All[at].Session, Release, Unknown})
		} else {
			o.All = append(o.All, Op{tick(), tick(), o.All[at].Session, Release, OK})
		}
		holding = slices.Delete(holding, last, last+1)
		fresh = false
	}
	return o
}

func BenchmarkCheck(b *testing.B) {
	for _, w := range []struct {
		name string
		workload
	}{
		{"mutex/1M-one-lock", workload{ops: 1_000_000, clients: 30, unknown: 0.01, spread: 1}},
		{"mutex/1M-one-lock-17%unknown", workload{ops: 1_000_000, clients: 30, unknown: 0.17, spread: 1}},
		{"mutex/10k", workload{ops: 10_000, clients: 30, unknown: 0.01, spread: 200}},
		{"mutex/10k-17%unknown", workload{ops: 10_000, clients: 30, unknown: 0.17, spread: 200}},
		{"mutex/10k-strict-tries", workload{ops: 10_000, clients: 30, unknown: 0.01, try: 0.5, strict: true, spread: 200}},
		{"reentrant/10k", workload{ops: 10_000, clients: 30, unknown: 0.01, spread: 200, m: Model{Reentrant: true}}},
		{"rw/10k", workload{ops: 10_000, clients: 30, unknown: 0.01, spread: 200, shared: true}},
	} {
		b.Run(w.name, func(b *testing.B) {
			// There are several locks, so that none stays in the cache.
			n := max(1, 1_000_000/w.ops)
			all := make([]*Ops, n)
			r := rand.New(rand.NewPCG(7, 7))
			for i := range all {
				all[i] = w.history(r)
			}
			for _, o := range all {
				if got := Check(w.m, o); got.Verdict() != Valid {
					b.Fatal(fmt.Sprint(got))
				}
			}
			b.ReportAllocs()
			ops := 0
			for b.Loop() {
				for _, o := range all {
					Check(w.m, o)
					ops += len(o.All)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ops), "ns/op-of-history")
		})
	}
}
