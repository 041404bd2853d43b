package sweep_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lockbench/checker/internal/sweep"
)

// These changes to a history have a known effect on its verdict. They need no oracle, so they also test histories for which
// porcupine is too slow.
var changes = []struct {
	name   string
	change func(rng *rand.Rand, o *sweep.Ops) *sweep.Ops
	// may reports whether one verdict may become another.
	may func(before, after sweep.Verdict) bool
}{
	{"stretch", stretch, same},
	{"rename", rename, same},
	{"add a definite failure", addFailure, same},
	// An explanation can omit operations that may never have happened, so removing them from
	// a history without an explanation does not create one.
	{"drop an unknown", dropUnknown, func(before, after sweep.Verdict) bool {
		return before != sweep.Violated || after == sweep.Violated
	}},
}

func same(before, after sweep.Verdict) bool { return before == after }

func TestMetamorphic(t *testing.T) {
	n := 2_000
	if verifying() {
		n *= 100
	}
	for _, k := range kinds {
		for _, c := range changes {
			t.Run(k.name+"/"+c.name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(11, 13))
				for range n {
					o := k.play.history(rng)
					before := sweep.Check(k.model, o)
					other := c.change(rng, o)
					after := sweep.Check(k.model, other)
					// The variant may leave more or less undecided.
					if before.Verdict() == sweep.Undecided || after.Verdict() == sweep.Undecided {
						continue
					}
					if !c.may(before.Verdict(), after.Verdict()) {
						t.Fatalf("%s became %s\n%s\n%s", before.Verdict(), after.Verdict(), draw(o), draw(other))
					}
				}
			})
		}
	}
}

// stretch moves events apart without changing their order.
func stretch(rng *rand.Rand, o *sweep.Ops) *sweep.Ops {
	c := clone(o)
	shift := rng.Uint32N(1000)
	to := make([]uint32, lastPosition(o)+1)
	for i := range to {
		shift += 1 + rng.Uint32N(3)
		to[i] = shift
	}
	for i := range c.All {
		c.All[i].Call = to[c.All[i].Call]
		if c.All[i].Ret != sweep.Never {
			c.All[i].Ret = to[c.All[i].Ret]
		}
	}
	return c
}

// rename changes the numbers of sessions: it inserts a session with unknown outcomes before all others.
func rename(_ *rand.Rand, o *sweep.Ops) *sweep.Ops {
	c := &sweep.Ops{}
	c.All = append(c.All, sweep.Op{0, sweep.Never, 0, sweep.Acquire, sweep.Fail})
	c.All[0].Ret = 1
	for i := range o.All {
		ret := o.All[i].Ret
		if ret != sweep.Never {
			ret += 2
		}
		c.All = append(c.All, sweep.Op{o.All[i].Call + 2, ret, o.All[i].Session + 1, o.All[i].Kind, o.All[i].Out})
	}
	if len(o.Owners) > 0 {
		c.Owners = append(append(c.Owners, slices.Max(o.Owners)+1), o.Owners...)
	}
	return c
}

// addFailure adds a refusal that claims nothing.
func addFailure(_ *rand.Rand, o *sweep.Ops) *sweep.Ops {
	c := clone(o)
	at := lastPosition(o) + 1
	last := uint32(0)
	for _, op := range o.All {
		last = max(last, op.Session)
	}
	c.All = append(c.All, sweep.Op{at, at + 1, last + 1, sweep.Acquire, sweep.Fail})
	if len(o.Owners) > 0 {
		c.Owners = append(c.Owners, o.Owners[0])
	}
	return c
}

// dropUnknown removes an operation with unknown outcome: a release, or a session that has only an acquire with unknown
// outcome.
func dropUnknown(rng *rand.Rand, o *sweep.Ops) *sweep.Ops {
	from := rng.IntN(len(o.All))
	for k := range len(o.All) {
		i := (from + k) % len(o.All)
		if o.All[i].Out != sweep.Unknown {
			continue
		}
		alone := true
		for j := range o.All {
			alone = alone && (j == i || o.All[j].Session != o.All[i].Session)
		}
		if len(o.All) > 1 && (alone || o.All[i].Kind == sweep.Release) {
			return without(o, i)
		}
	}
	return o
}

func lastPosition(o *sweep.Ops) uint32 {
	last := uint32(0)
	for _, op := range o.All {
		last = max(last, op.Call)
		if op.Ret != sweep.Never {
			last = max(last, op.Ret)
		}
	}
	return last
}
