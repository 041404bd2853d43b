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
		{"one unknown acquire explains one gap", Model{}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {2, 0, 0, Release, Unknown, 0}, {10, 11, 1, Acquire, StrictFail, 0},
			{20, 21, 2, Acquire, OK, 0}, {22, 23, 2, Release, OK, 0}, {30, 31, 3, Acquire, StrictFail, 0},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"one unknown acquire explains one gap, also to the exact engine", Model{}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {2, 0, 0, Release, Unknown, 0}, {10, 11, 1, Acquire, StrictFail, 0},
			{20, 21, 2, Acquire, OK, 0}, {22, 23, 2, Release, OK, 0}, {30, 31, 3, Acquire, StrictFail, 0},
			{40, 0, 4, Acquire, Unknown, 0}, {41, 42, 4, Release, OK, 0},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"one unknown acquire of a reader explains one stretch without writers", Model{Shape: RW}, []op{
			{0, 0, 0, AcquireShared, Unknown, 0}, {2, 0, 0, Release, Unknown, 0}, {10, 11, 1, Acquire, StrictFail, 0},
			{20, 21, 2, Acquire, OK, 0}, {22, 23, 2, Release, OK, 0}, {30, 31, 3, Acquire, StrictFail, 0},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"a reader whose release was not answered is gone when a writer was there", Model{Shape: RW}, []op{
			{0, 1, 0, AcquireShared, OK, 0}, {2, 0, 0, Release, Unknown, 0}, {10, 11, 1, Acquire, StrictFail, 0},
			{20, 21, 2, Acquire, OK, 0}, {22, 23, 2, Release, OK, 0}, {24, 25, 3, AcquireShared, OK, 0}, {26, 27, 3, Release, OK, 0},
			{30, 31, 4, Acquire, StrictFail, 0}, {32, 0, 5, Acquire, Unknown, 0}, {33, 34, 5, Release, OK, 0},
		}, []Finding{{RefusedThoughFree, 4, None}}},
		{"an unknown writer comes and goes between two readers", Model{Shape: RW}, []op{
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
		{"an unknown writer is kept for the reader that only it can refuse", Model{Shape: RW}, []op{
			{0, 0, 0, AcquireShared, Unknown, 0}, {1, 0, 0, Release, Unknown, 0}, {2, 0, 1, Acquire, Unknown, 0}, {3, 0, 1, Release, Unknown, 0},
			{4, 5, 2, Acquire, StrictFail, 0}, {6, 7, 3, Acquire, OK, 0}, {8, 9, 3, Release, OK, 0},
			{10, 11, 4, AcquireShared, StrictFail, 0}, {12, 13, 1, Release, Fail, 0},
		}, nil},
		{"who came and went before is not in the way of who lingers", Model{Shape: RW}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {1, 6, 1, Acquire, OK, 0}, {5, 12, 0, Release, OK, 0}, {8, 0, 1, Release, Unknown, 0},
			{14, 15, 2, Acquire, StrictFail, 0},
		}, nil},
		{"nor is one that is counted spent where a reader does", Model{Shape: RW}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {1, 0, 0, Release, Unknown, 0}, {2, 0, 1, AcquireShared, Unknown, 0}, {3, 0, 1, Release, Unknown, 0},
			{4, 5, 2, Acquire, StrictFail, 0}, {6, 7, 3, Acquire, OK, 0}, {8, 9, 3, Release, OK, 0}, {10, 11, 4, AcquireShared, StrictFail, 0},
		}, nil},
		{"an unsure session may come after somebody whom it could have come before", Model{}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {1, 5, 1, Acquire, OK, 0}, {3, 20, 0, Release, OK, 0}, {7, 8, 1, Release, OK, 0},
			{10, 11, 2, Acquire, StrictFail, 0},
		}, nil},
		{"a sum of permits that is no int64", Model{Shape: Semaphore, Permits: 1 << 62}, []op{
			{0, 1, 0, Acquire, OK, 1 << 62}, {2, 3, 1, Acquire, OK, 1 << 62},
		}, []Finding{{TooManyPermits, 0, 1}}},
		{"nor has it 64 bits", Model{Shape: Semaphore, Permits: math.MaxInt64}, []op{
			{0, 1, 0, Acquire, OK, math.MaxInt64}, {2, 3, 1, Acquire, OK, math.MaxInt64}, {4, 5, 2, Acquire, OK, 2},
		}, []Finding{{TooManyPermits, 0, 1}, {TooManyPermits, 0, 2}}},
		{"nor is what may have been held", Model{Shape: Semaphore, Permits: 1 << 62}, []op{
			{0, 0, 0, Acquire, Unknown, 1 << 62}, {1, 0, 1, Acquire, Unknown, 1 << 62}, {2, 0, 2, Acquire, Unknown, 1 << 62},
			{3, 0, 3, Acquire, Unknown, 1 << 62}, {4, 5, 4, Acquire, StrictFail, 1}, {6, 7, 5, Acquire, OK, 1}, {8, 9, 5, Release, OK, 0},
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := history(c.ops...)
			expect(t, c.m, o, c.want)
		})
	}
}

// expect compares what is found with what should be, and with the definition.
func expect(t *testing.T, m Model, o *Ops, want []Finding) {
	t.Helper()
	var c Checker
	r := c.Check(m, o)
	if !slices.Equal(c.Findings, want) {
		t.Errorf("found %v, expected %v", c.Findings, want)
	}
	if (r.Verdict == Violated) != (len(want) > 0) || (r.Verdict == Valid) != linearizable(m, o) {
		t.Errorf("judged %s %s", r.Verdict, r.Why)
	}
}

// TestOwners are histories of owners with several sessions.
func TestOwners(t *testing.T) {
	again, rw := Model{Reentrant: true}, Model{Shape: RW, Reentrant: true}
	for _, c := range []struct {
		name   string
		m      Model
		owners []uint32
		ops    []op
		want   []Finding
	}{
		{"what an owner still holds keeps others out, whichever it left first", again, []uint32{0, 0, 1}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, Acquire, OK, 0}, {4, 5, 0, Release, OK, 0},
			{6, 7, 2, Acquire, OK, 0}, {8, 9, 1, Release, OK, 0},
		}, []Finding{{TwoHolders, 1, 2}}},
		{"the furthest end of another owner, and not of the same", Model{}, []uint32{0, 1, 0}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, Acquire, OK, 0}, {4, 5, 2, Acquire, OK, 0}, {6, 7, 1, Release, OK, 0},
		}, []Finding{{TwoHolders, 0, 1}, {TwoHolders, 1, 2}}},
		{"a release gives back its own session", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, Acquire, OK, 0}, {4, 5, 1, Release, OK, 0}, {6, 7, 0, Release, Fail, 0},
		}, []Finding{{Evicted, 0, None}}},
		{"and works once", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, Acquire, OK, 0}, {4, 5, 1, Release, OK, 0}, {6, 7, 1, Release, OK, 0},
		}, []Finding{{ReleasedTwice, 1, None}}},
		{"an inner acquire that never happened was not there, and the outer one was", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 0, 1, Acquire, Unknown, 0}, {3, 4, 1, Release, Fail, 0}, {5, 6, 0, Release, OK, 0},
		}, nil},
		{"an owner goes on after an unknown acquire, beside which it may hold", again, []uint32{0, 0, 1}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {1, 2, 1, Acquire, OK, 0}, {3, 4, 1, Release, OK, 0},
			{5, 6, 2, Acquire, StrictFail, 0}, {7, 8, 0, Release, OK, 0},
		}, nil},
		{"inside its own hold there is room for what has happened", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 0, 1, Acquire, Unknown, 0}, {3, 4, 1, Release, OK, 0}, {5, 6, 0, Release, OK, 0},
		}, nil},
		{"inside another's there is none", again, []uint32{0, 1, 1}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 0, 1, Acquire, Unknown, 0}, {3, 4, 1, Release, OK, 0}, {5, 6, 0, Release, OK, 0}, {7, 8, 2, Acquire, OK, 0},
		}, []Finding{{ReleasedWithoutHolding, 1, None}}},
		{"an owner that may enter again is not refused for what it holds", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, Acquire, StrictFail, 0},
		}, []Finding{{RefusedThoughFree, 1, None}}},
		{"any other is", Model{}, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, Acquire, StrictFail, 0},
		}, nil},
		{"a session that was granted late was there before an earlier one of its owner", again, []uint32{0, 1, 2, 0}, []op{
			{0, 21, 0, Acquire, OK, 0}, {1, 2, 1, Acquire, OK, 0}, {3, 4, 1, Release, OK, 0}, {5, 6, 2, Acquire, StrictFail, 0},
			{7, 8, 3, Acquire, OK, 0}, {9, 10, 3, Release, OK, 0},
		}, nil},
		{"and then nobody else came in between", again, []uint32{0, 1, 2, 0}, []op{
			{0, 30, 0, Acquire, OK, 0}, {1, 0, 1, Acquire, Unknown, 0}, {5, 6, 2, Acquire, StrictFail, 0},
			{7, 8, 3, Acquire, OK, 0}, {9, 10, 3, Release, OK, 0}, {12, 13, 1, Release, OK, 0},
		}, []Finding{{ReleasedWithoutHolding, 1, None}}},
		{"another comes and goes before an owner that it refuses", again, []uint32{0, 1, 0}, []op{
			{0, 0, 0, Acquire, Unknown, 0}, {1, 0, 0, Release, Unknown, 0}, {2, 9, 1, Acquire, StrictFail, 0}, {4, 5, 2, Acquire, OK, 0},
		}, nil},
		{"a writer of the owner does not keep it from reading", rw, []uint32{0, 0, 1}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, AcquireShared, OK, 0}, {4, 5, 0, Release, OK, 0}, {6, 7, 2, AcquireShared, OK, 0},
		}, nil},
		{"but others, as long as it writes", rw, []uint32{0, 0, 1}, []op{
			{0, 1, 0, Acquire, OK, 0}, {2, 3, 1, AcquireShared, OK, 0}, {4, 5, 2, AcquireShared, OK, 0},
		}, []Finding{{ReaderAndWriter, 0, 2}}},
		{"a reader of another owner behind one of the writer's", rw, []uint32{0, 1, 0, 0}, []op{
			{0, 1, 0, AcquireShared, OK, 0}, {2, 3, 1, AcquireShared, OK, 0}, {4, 5, 2, AcquireShared, OK, 0},
			{6, 7, 3, Acquire, OK, 0}, {8, 9, 1, Release, OK, 0},
		}, []Finding{{ReaderAndWriter, 1, 3}}},
		{"a writer whose release was answered finds room where only its owner reads", rw, []uint32{0, 1, 0}, []op{
			{0, 1, 0, AcquireShared, OK, 0}, {2, 3, 1, AcquireShared, OK, 0}, {4, 0, 2, Acquire, Unknown, 0},
			{5, 20, 2, Release, OK, 0}, {6, 7, 1, Release, OK, 0},
		}, nil},
		{"and must have been released after the other", rw, []uint32{0, 1, 0}, []op{
			{0, 1, 0, AcquireShared, OK, 0}, {2, 3, 1, AcquireShared, OK, 0}, {4, 0, 2, Acquire, Unknown, 0},
			{5, 6, 2, Release, OK, 0}, {7, 8, 1, Release, OK, 0},
		}, []Finding{{ReleasedWithoutHolding, 2, None}}},
		{"of an owner the reader comes early where the writer cannot", rw, []uint32{0, 0, 1, 2}, []op{
			{0, 20, 0, Acquire, OK, 0}, {1, 30, 1, AcquireShared, OK, 0}, {2, 3, 2, Acquire, StrictFail, 0},
			{4, 5, 3, AcquireShared, OK, 0}, {6, 7, 3, Release, OK, 0},
		}, nil},
		{"one token for two sessions of an owner that may enter again", Model{Reentrant: true, Fenced: true}, []uint32{0, 0, 1}, []op{
			{0, 1, 0, Acquire, OK, 7}, {2, 3, 1, Acquire, OK, 7}, {4, 5, 0, Release, OK, 0}, {6, 7, 1, Release, OK, 0}, {8, 9, 2, Acquire, OK, 7},
		}, []Finding{{TokenFell, 0, 2}}},
		{"no token for two sessions of any other", Model{Fenced: true}, []uint32{0, 0}, []op{
			{0, 9, 0, Acquire, OK, 7}, {2, 3, 1, Acquire, OK, 7},
		}, []Finding{{TokenFell, 1, 0}}},
		{"a token that falls within an owner", Model{Reentrant: true, Fenced: true}, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK, 7}, {2, 3, 1, Acquire, OK, 6},
		}, []Finding{{TokenFell, 0, 1}}},
		{"the lower token was granted first, and so nobody else since", Model{Reentrant: true, Fenced: true}, []uint32{0, 0, 1}, []op{
			{0, 20, 0, Acquire, OK, 1}, {1, 2, 1, Acquire, OK, 2}, {3, 4, 1, Release, OK, 0},
			{5, 0, 2, Acquire, Unknown, 0}, {6, 7, 2, Release, OK, 0},
		}, []Finding{{ReleasedWithoutHolding, 2, None}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := history(c.ops...)
			o.Owners = c.owners
			expect(t, c.m, o, c.want)
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

// An unknown acquire that is told twice at once that it does not hold may come in between.
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

// More releases at once that are denied than there is room for, beside the refusal: nobody can say.
func TestDeniedManyTimesAtOnce(t *testing.T) {
	for n, want := range map[uint32]Verdict{setSize - 1: Valid, setSize: Undecided} {
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

// A place that is free again says nothing of whoever has it next.
func TestClaimIsTakenBack(t *testing.T) {
	o := history(
		op{0, 0, 0, Acquire, Unknown, 0}, op{1, 2, 1, Acquire, StrictFail, 0}, op{3, 0, 0, Release, Unknown, 0}, op{4, 5, 0, Release, Fail, 0},
		op{6, 0, 2, Acquire, Unknown, 0}, op{7, 10, 2, Release, Fail, 0}, op{8, 9, 3, Acquire, StrictFail, 0},
	)
	var c Checker
	if r := c.Check(Model{Shape: RW}, o); r.Verdict != Valid {
		t.Errorf("judged %s %s, want valid", r.Verdict, r.Rule)
	}
}
