package sweep_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"lockbench/checker/internal/sweep"
)

// The tests compare package sweep with porcupine, which shares only the sequential model of the operations with it. Histories
// on which they disagree are shrunk and printed.
//
// LOCKBENCH_VERIFY=1 sets the numbers of `make verify`, and LOCKBENCH_RANDOM the number of random histories for each model.

// verifying reports whether the long tests run.
func verifying() bool { return os.Getenv("LOCKBENCH_VERIFY") != "" }

// drawn returns the number of random histories of a model. Models that differ only in strict refusals get a tenth.
func drawn(t *testing.T, strict bool) int {
	n := 10_000
	if verifying() {
		n = 10_000_000
	}
	if verifying() && strict {
		n /= 10
	}
	if text := os.Getenv("LOCKBENCH_RANDOM"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("LOCKBENCH_RANDOM: %v", err)
		}
	}
	return n
}

// kinds are the locks that are compared.
var kinds = []struct {
	name  string
	model sweep.Model
	play  play
}{
	{"mutex", sweep.Model{}, play{strict: true}},
	{"mutex-twice-strict", sweep.Model{}, play{strict: true, twice: true}},
	{"rw", sweep.Model{}, play{shared: true}},
	{"rw-strict", sweep.Model{}, play{shared: true, strict: true}},
	{"rw-twice-strict", sweep.Model{}, play{shared: true, strict: true, twice: true}},
	{"owners-strict", sweep.Model{}, play{owners: 3, strict: true}},
	{"reentrant", sweep.Model{Reentrant: true}, play{owners: 2}},
	{"reentrant-strict", sweep.Model{Reentrant: true}, play{owners: 3, strict: true}},
	{"reentrant-twice-strict", sweep.Model{Reentrant: true}, play{owners: 2, strict: true, twice: true}},
	{"rw-owners", sweep.Model{}, play{shared: true, owners: 3}},
	{"rw-owners-strict", sweep.Model{}, play{shared: true, owners: 3, strict: true}},
	{"rw-reentrant-strict", sweep.Model{Reentrant: true}, play{shared: true, owners: 3, strict: true}},
	{"rw-reentrant-twice-strict", sweep.Model{Reentrant: true}, play{shared: true, owners: 2, strict: true, twice: true}},
}

// TestRandomAgainstPorcupine draws histories of a few clients and a lock that mostly answers correctly.
func TestRandomAgainstPorcupine(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			n := drawn(t, strings.HasSuffix(k.name, "-strict"))
			var left atomic.Int64
			left.Store(int64(n))
			seen := inParallel(t, k.model, func(worker int, c *comparison) {
				rng := rand.New(rand.NewPCG(7, uint64(worker)))
				var o sweep.Ops
				for left.Add(-1) >= 0 && !t.Failed() {
					k.play.into(&o, rng)
					c.compare(&o)
				}
			})
			t.Logf("%d histories: %d valid, %d undecided, %d violated", n, seen[0], seen[1], seen[2])
			if n >= 1000 && (seen[sweep.Valid] < n/20 || seen[sweep.Violated] < n/20) {
				t.Errorf("nearly all were judged alike, so this shows little")
			}
		})
	}
}

// TestExhaustiveAgainstPorcupine compares all histories of up to three sessions with all combinations of shapes and all
// interleavings: for a mutex, for readers and writers, and for both with each assignment of owners. The comments of
// interleave and readersAndWriters name the exceptions. Without LOCKBENCH_VERIFY, histories have two sessions.
func TestExhaustiveAgainstPorcupine(t *testing.T) {
	t.Run("mutex", func(t *testing.T) { exhaust(t, sweep.Model{}, shapes, nil) })
	t.Run("rw", func(t *testing.T) { exhaust(t, sweep.Model{}, readersAndWriters(), nil) })
	for _, owners := range [][]uint32{{0, 0, 1}, {0, 1, 0}, {0, 1, 1}, {0, 0, 0}} {
		for _, again := range []bool{false, true} {
			m := sweep.Model{Reentrant: again}
			name := fmt.Sprint(owners)
			if again {
				name += "-reentrant"
			}
			t.Run("mutex-"+name, func(t *testing.T) { exhaust(t, m, writers(), owners) })
			t.Run("rw-"+name, func(t *testing.T) { exhaust(t, m, readersAndWriters(), owners) })
		}
	}
}

func exhaust(t *testing.T, m sweep.Model, shapes []shape, owners []uint32) {
	sessions := 2
	if verifying() {
		sessions = 3
	}
	shards := runtime.GOMAXPROCS(0)
	seen := inParallel(t, m, func(worker int, c *comparison) {
		n := 0
		interleave(sessions, shapes, owners, func(o *sweep.Ops) bool {
			if n++; n%shards == worker {
				c.compare(o)
			}
			return !t.Failed()
		})
	})
	t.Logf("%d histories of up to %d sessions: %d valid, %d undecided, %d violated", seen[0]+seen[1]+seen[2], sessions, seen[0], seen[1], seen[2])
	if seen[sweep.Valid] == 0 || seen[sweep.Violated] == 0 {
		t.Error("all were judged alike, so this shows little")
	}
}

// TestTruthIsNeverViolated judges histories of a correct lock that are too long for porcupine. They are linearizable, whatever
// outcomes are unknown.
func TestTruthIsNeverViolated(t *testing.T) {
	n := 20
	if verifying() {
		n = 2_000
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(17, 19))
			undecided := 0
			for range n {
				o := k.play.long(rng, 3+rng.IntN(10), 50+rng.IntN(1000))
				switch r := sweep.Check(k.model, o); {
				case r.Verdict() == sweep.Violated:
					t.Fatalf("judged %v\n%s", r.Findings, draw(o))
				case r.Verdict() == sweep.Undecided:
					undecided++
				}
			}
			if undecided > 0 {
				t.Errorf("%d of %d are undecided", undecided, n)
			}
		})
	}
}

// inParallel runs a worker on each core and adds up their results. Histories are short-lived, so the garbage collector runs less
// often than by default.
func inParallel(t *testing.T, m sweep.Model, work func(worker int, c *comparison)) (seen [3]int) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	for worker := range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			c := newComparison(m, func(o *sweep.Ops, why string) { t.Errorf("%s\n%s", why, draw(o)) })
			work(worker, c)
			c.flush()
			mu.Lock()
			defer mu.Unlock()
			for v, n := range c.verdicts {
				seen[v] += n
			}
		})
	}
	wait.Wait()
	return seen
}

// shrink removes everything that a property does not need: whole operations first (an acquire together with its session), then
// the outcomes of others.
func shrink(o *sweep.Ops, still func(*sweep.Ops) bool) *sweep.Ops {
	for smaller := true; smaller; {
		smaller = false
		for i := 0; i < len(o.All); i++ {
			less := without(o, i)
			if len(less.All) > 0 && still(less) {
				o, smaller = less, true
				break
			}
			if known := forget(o, i); known != nil && still(known) {
				o, smaller = known, true
				break
			}
		}
	}
	return o
}

// without returns a history without an operation, and without its session if the operation is an acquire.
func without(o *sweep.Ops, leave int) *sweep.Ops {
	first := true
	for i := range leave {
		first = first && o.All[i].Session != o.All[leave].Session
	}
	less := &sweep.Ops{}
	number := map[uint32]uint32{}
	for i := range o.All {
		if i == leave || first && o.All[i].Session == o.All[leave].Session {
			continue
		}
		n, ok := number[o.All[i].Session]
		if !ok {
			n = uint32(len(number))
			number[o.All[i].Session] = n
		}
		less.All = append(less.All, sweep.Op{o.All[i].Call, o.All[i].Ret, n, o.All[i].Kind, o.All[i].Out})
		if !ok && len(o.Owners) > 0 {
			less.Owners = append(less.Owners, o.Owners[o.All[i].Session])
		}
	}
	return less
}

// forget returns a history in which the outcome of a release is unknown, or nil.
func forget(o *sweep.Ops, at int) *sweep.Ops {
	if o.All[at].Kind != sweep.Release || o.All[at].Out == sweep.Unknown {
		return nil
	}
	less := &sweep.Ops{Owners: o.Owners}
	for i := range o.All {
		op := o.All[i]
		if i == at {
			op.Ret, op.Out = sweep.Never, sweep.Unknown
		}
		less.All = append(less.All, op)
	}
	return less
}

// draw writes a history with one operation on each line and a drawing of its interval.
func draw(o *sweep.Ops) string {
	var b strings.Builder
	end := uint32(0)
	for i := range o.All {
		end = max(end, o.All[i].Call)
		if o.All[i].Out != sweep.Unknown {
			end = max(end, o.All[i].Ret)
		}
	}
	for i := range o.All {
		what := [...]string{"acquire", "acquire shared", "release"}[o.All[i].Kind] + " " +
			[...]string{"unknown", "ok", "fail", "strict fail"}[o.All[i].Out]
		ret, last := o.All[i].Ret, "┤"
		if o.All[i].Out == sweep.Unknown {
			ret, last = end+1, "…"
		}
		who := fmt.Sprintf("session %d", o.All[i].Session)
		if len(o.Owners) > 0 {
			who += fmt.Sprintf(" of %d", o.Owners[o.All[i].Session])
		}
		fmt.Fprintf(&b, "  %s %-24s %s├%s%s\n", who, what,
			strings.Repeat(" ", int(o.All[i].Call)), strings.Repeat("─", int(ret-o.All[i].Call-1)), last)
	}
	return b.String()
}
