package sweep

import (
	"math"
	"slices"
	"testing"
)

// op is one for a table: positions of call and return, 0 for a return that never came.
type op struct {
	call, ret, session uint32
	kind               Kind
	out                Out
	aux                int64
}

func history(ops ...op) *Ops {
	o := &Ops{}
	for _, x := range ops {
		if x.ret == 0 {
			x.ret = Never
		}
		o.Add(x.call, x.ret, x.session, x.kind, x.out, x.aux)
	}
	return o
}

// TestFindings are histories of which more than the verdict is told.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Model
		ops  []op
		want []Finding
	}{
		{"the furthest end and not the neighbour's", Model{}, []op{
			{0, 1, 0, Acquire, OK, 0}, {10, 11, 1, Acquire, OK, 0}, {20, 21, 1, Release, OK, 0},
			{30, 31, 2, Acquire, OK, 0}, {40, 41, 2, Release, OK, 0}, {100, 101, 0, Release, OK, 0},
		}, []Finding{{TwoHolders, 0, 1}, {TwoHolders, 0, 2}}},
		{"a release that is under way may end the hold for one that was called before it", Model{}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 9, 0, Release, Fail, 0}, {3, 0, 0, Release, Unknown, 0},
		}, nil},
		{"a reader and a writer", Model{Shape: RW}, []op{
			{0, 1, 0, AcquireShared, OK, 0}, {2, 3, 1, Acquire, OK, 0},
		}, []Finding{{ReaderAndWriter, 0, 1}}},
		{"a writer and a reader", Model{Shape: RW}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, AcquireShared, OK, 0},
		}, []Finding{{ReaderAndWriter, 0, 1}}},
		{"two writers", Model{Shape: RW}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, Acquire, OK, 0},
		}, []Finding{{TwoHolders, 0, 1}}},
		{"too many permits", Model{Shape: Semaphore, Permits: 3}, []op{
			{0, 1, 0, Acquire, OK, 2}, {2, 3, 1, Acquire, OK, 2},
		}, []Finding{{TooManyPermits, 0, 1}}},
		{"permits that nobody had", Model{Shape: Semaphore, Permits: 3}, []op{
			{0, 1, 0, Acquire, OK, 1}, {2, 3, 1, Acquire, StrictFail, 2},
		}, []Finding{{RefusedThoughFree, 1, None}}},
		{"a token that repeats", Model{Fenced: true}, []op{
			{0, 1, 0, Acquire, OK, 7}, {2, 3, 0, Release, OK, 0}, {4, 5, 1, Acquire, OK, 7},
		}, []Finding{{TokenFell, 0, 1}}},
		{"one ghost explains one gap", Model{}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {2, 0, 0, Release, Unknown, 0}, {10, 11, 1, Acquire, StrictFail, 0},
			{20, 21, 2, Acquire, OK, 0}, {22, 23, 2, Release, OK, 0}, {30, 31, 3, Acquire, StrictFail, 0},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"one ghost explains one gap, also to the exact engine", Model{}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {2, 0, 0, Release, Unknown, 0}, {10, 11, 1, Acquire, StrictFail, 0},
			{20, 21, 2, Acquire, OK, 0}, {22, 23, 2, Release, OK, 0}, {30, 31, 3, Acquire, StrictFail, 0},
			{40, 0, 4, Acquire, Unknown, 0}, {41, 42, 4, Release, OK, 0},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"one ghost that reads explains one stretch without writers", Model{Shape: RW}, []op{
			{0, 0, 0, AcquireShared, Unknown, 0}, {2, 0, 0, Release, Unknown, 0}, {10, 11, 1, Acquire, StrictFail, 0},
			{20, 21, 2, Acquire, OK, 0}, {22, 23, 2, Release, OK, 0}, {30, 31, 3, Acquire, StrictFail, 0},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"a reader whose release was not answered is gone when a writer was there", Model{Shape: RW}, []op{
			{0, 1, 0, AcquireShared, OK, 0}, {2, 0, 0, Release, Unknown, 0}, {10, 11, 1, Acquire, StrictFail, 0},
			{20, 21, 2, Acquire, OK, 0}, {22, 23, 2, Release, OK, 0}, {24, 25, 3, AcquireShared, OK, 0}, {26, 27, 3, Release, OK, 0},
			{30, 31, 4, Acquire, StrictFail, 0}, {32, 0, 5, Acquire, Unknown, 0}, {33, 34, 5, Release, OK, 0},
		}, []Finding{{RefusedThoughFree, 4, None}}},
		{"a ghost that writes comes and goes between two readers", Model{Shape: RW}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {2, 0, 0, Release, Unknown, 0}, {3, 21, 1, AcquireShared, StrictFail, 0},
			{4, 5, 2, AcquireShared, OK, 0}, {6, 7, 2, Release, OK, 0}, {12, 13, 3, AcquireShared, OK, 0},
		}, nil},
		{"but needs a moment without any", Model{Shape: RW}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {2, 0, 0, Release, Unknown, 0}, {4, 5, 1, AcquireShared, OK, 0},
			{8, 21, 2, AcquireShared, StrictFail, 0}, {12, 13, 3, AcquireShared, OK, 0}, {14, 15, 1, Release, OK, 0},
		}, []Finding{{RefusedThoughFree, 2, None}}},
		{"an unsure reader stays until its release is called", Model{Shape: RW}, []op{
			{0, 0, 0, AcquireShared, Unknown, 0}, {2, 3, 1, Acquire, StrictFail, 0},
			{10, 11, 2, Acquire, OK, 0}, {12, 13, 2, Release, OK, 0}, {20, 21, 0, Release, OK, 0},
		}, []Finding{{RefusedThoughFree, 1, None}}},
		{"a sum of permits that is no int64", Model{Shape: Semaphore, Permits: 1 << 62}, []op{
			{0, 1, 0, Acquire, OK, 1 << 62}, {2, 3, 1, Acquire, OK, 1 << 62},
		}, []Finding{{TooManyPermits, 0, 1}}},
		{"nor has it 64 bits", Model{Shape: Semaphore, Permits: math.MaxInt64}, []op{
			{0, 1, 0, Acquire, OK, math.MaxInt64}, {2, 3, 1, Acquire, OK, math.MaxInt64}, {4, 5, 2, Acquire, OK, 2},
		}, []Finding{{TooManyPermits, 0, 1}, {TooManyPermits, 0, 2}}},
		{"nor is what may have been held", Model{Shape: Semaphore, Permits: 1 << 62}, []op{
			{0, 0, 0, Acquire, Unknown, 1 << 62}, {1, 0, 1, Acquire, Unknown, 1 << 62}, {2, 3, 2, Acquire, StrictFail, 1},
			{4, 5, 3, Acquire, OK, 1}, {6, 7, 3, Release, OK, 0},
		}, nil},
		{"what an owner enters again keeps others out", Model{Reentrant: true}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 0, Acquire, OK, 0}, {4, 5, 0, Release, OK, 0},
			{6, 7, 1, Acquire, OK, 0}, {8, 9, 0, Release, OK, 0},
		}, []Finding{{TwoHolders, 0, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k Checker
			o := history(c.ops...)
			r := k.Check(c.m, o)
			if !slices.Equal(k.Findings, c.want) {
				t.Errorf("found %v, expected %v", k.Findings, c.want)
			}
			if (r.Verdict == Violated) != (len(c.want) > 0) || (r.Verdict == Valid) != linearizable(c.m, o) {
				t.Errorf("judged %s %s", r.Verdict, r.Why)
			}
		})
	}
}

// TestTooMuchIsUndecided: what grows beyond all bounds is given up, and never passed.
func TestTooMuchIsUndecided(t *testing.T) {
	o := &Ops{}
	pos := uint32(0)
	at := func() uint32 { pos++; return pos }
	// Three hundred acquires that nobody heard of, all being released at once, and a refusal
	// that one of them must explain.
	const n = 300
	for i := range uint32(n) {
		o.Add(at(), Never, i, Acquire, Unknown, 1)
	}
	first := len(o.Call)
	for i := range uint32(n) {
		o.Add(at(), 0, i, Release, OK, 0)
	}
	call := at()
	o.Add(call, at(), n, Acquire, StrictFail, 1)
	for i := range n {
		o.Ret[first+i] = at()
	}
	for _, m := range []Model{{}, {Shape: RW}} {
		var c Checker
		if r := c.Check(m, o); r.Verdict != Undecided || r.Why == "" {
			t.Errorf("%+v: judged %s %q; expected it to be given up, with the reason", m, r.Verdict, r.Why)
		}
	}
}

// Of a semaphore a refusal that only a choice of holds explains, or none, is left open.
func TestRefusedPermitsAreUndecided(t *testing.T) {
	o := history(op{0, 1, 0, Acquire, OK, 1}, op{2, 9, 1, Acquire, StrictFail, 1}, op{3, 0, 2, Acquire, Unknown, 1}, op{4, 5, 0, Release, OK, 0})
	var c Checker
	if r := c.Check(Model{Shape: Semaphore, Permits: 2}, o); r.Verdict != Undecided || r.Why != tooManyHolds {
		t.Errorf("judged %s %q, want undecided for the holds\n%s", r.Verdict, r.Why, drawn(o))
	}
}

// TestWarmCheckerAllocatesNothing in the models whose speed is promised.
func TestWarmCheckerAllocatesNothing(t *testing.T) {
	for _, m := range []Model{{}, {Fenced: true}, {Reentrant: true}, {Shape: RW}, {Shape: Semaphore, Permits: 5}} {
		o := workload{ops: 3000, clients: 10, unknown: 0.05, spread: 3, m: m}.history(testRand())
		var c Checker
		c.Check(m, o)
		if n := testing.AllocsPerRun(5, func() { c.Check(m, o) }); n > 0 {
			t.Errorf("%+v: %v allocations", m, n)
		}
	}
}

// A ghost that is told twice at once that it does not hold may come in between.
func TestDeniedTwiceAtOnce(t *testing.T) {
	o := history(
		op{0, 0, 0, Acquire, Unknown, 1}, op{1, 3, 1, Acquire, StrictFail, 1},
		op{2, 5, 0, Release, Fail, 0}, op{4, 9, 0, Release, Fail, 0}, op{6, 0, 0, Release, Unknown, 0},
	)
	for _, m := range []Model{{}, {Shape: RW}} {
		var c Checker
		if r := c.Check(m, o); r.Verdict != Valid {
			t.Errorf("%+v: judged %s %q, want valid", m, r.Verdict, r.Why)
		}
	}
}

// More releases at once that are denied than there are marks for: nobody can say.
func TestDeniedManyTimesAtOnce(t *testing.T) {
	for n, want := range map[uint32]Verdict{marksMax: Valid, marksMax + 1: Undecided} {
		o := history(op{0, 0, 0, Acquire, Unknown, 0}, op{1, 3 + 2*n, 1, Acquire, StrictFail, 0})
		for i := range n {
			o.Add(3+i, 3+n+i, 0, Release, Fail, 0)
		}
		var c Checker
		if r := c.Check(Model{Shape: RW}, o); r.Verdict != want {
			t.Errorf("%d at once: judged %s %q, want %s", n, r.Verdict, r.Why, want)
		}
	}
}

// A mark that is free again says nothing of whoever has it next.
func TestMarkIsTakenBack(t *testing.T) {
	o := history(
		op{0, 0, 0, Acquire, Unknown, 0}, op{1, 2, 1, Acquire, StrictFail, 0}, op{3, 0, 0, Release, Unknown, 0}, op{4, 5, 0, Release, Fail, 0},
		op{6, 0, 2, Acquire, Unknown, 0}, op{7, 10, 2, Release, Fail, 0}, op{8, 9, 3, Acquire, StrictFail, 0},
	)
	var c Checker
	if r := c.Check(Model{Shape: RW}, o); r.Verdict != Valid {
		t.Errorf("judged %s %s, want valid", r.Verdict, r.Rule)
	}
}
