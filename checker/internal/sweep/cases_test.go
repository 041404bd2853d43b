package sweep

import (
	"slices"
	"testing"
)

// op is an operation of a table, with the positions of its call and its return. 0 means no return.
type op struct {
	call, ret, session uint32
	kind               Kind
	out                Out
}

func history(ops ...op) *Ops {
	o := &Ops{}
	for _, x := range ops {
		if x.ret == 0 {
			x.ret = Never
		}
		o.All = append(o.All, Op{x.call, x.ret, x.session, x.kind, x.out})
	}
	return o
}

// TestFindings compares the findings of histories.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Model
		ops  []op
		want []Finding
	}{
		{"the furthest end and not the neighbour's", Model{}, []op{
			{0, 1, 0, Acquire, OK}, {10, 11, 1, Acquire, OK}, {20, 21, 1, Release, OK},
			{30, 31, 2, Acquire, OK}, {40, 41, 2, Release, OK}, {100, 101, 0, Release, OK},
		}, []Finding{{TwoHolders, 0, 1}, {TwoHolders, 0, 2}}},
		{"a release that is under way may end the hold for one that was called before it", Model{}, []op{
			{0, 1, 0, Acquire, OK}, {2, 9, 0, Release, Fail}, {3, 0, 0, Release, Unknown},
		}, nil},
		{"a reader and a writer", Model{}, []op{
			{0, 1, 0, AcquireShared, OK}, {2, 3, 1, Acquire, OK},
		}, []Finding{{ReaderAndWriter, 0, 1}}},
		{"a writer and a reader", Model{}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, AcquireShared, OK},
		}, []Finding{{ReaderAndWriter, 0, 1}}},
		{"two writers", Model{}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, Acquire, OK},
		}, []Finding{{TwoHolders, 0, 1}}},
		{"one unknown acquire explains one gap", Model{}, []op{
			{0, 0, 0, Acquire, Unknown}, {2, 0, 0, Release, Unknown}, {10, 11, 1, Acquire, StrictFail},
			{20, 21, 2, Acquire, OK}, {22, 23, 2, Release, OK}, {30, 31, 3, Acquire, StrictFail},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"one unknown acquire explains one gap, also to the exact engine", Model{}, []op{
			{0, 0, 0, Acquire, Unknown}, {2, 0, 0, Release, Unknown}, {10, 11, 1, Acquire, StrictFail},
			{20, 21, 2, Acquire, OK}, {22, 23, 2, Release, OK}, {30, 31, 3, Acquire, StrictFail},
			{40, 0, 4, Acquire, Unknown}, {41, 42, 4, Release, OK},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"one unknown acquire of a reader explains one stretch without writers", Model{}, []op{
			{0, 0, 0, AcquireShared, Unknown}, {2, 0, 0, Release, Unknown}, {10, 11, 1, Acquire, StrictFail},
			{20, 21, 2, Acquire, OK}, {22, 23, 2, Release, OK}, {30, 31, 3, Acquire, StrictFail},
		}, []Finding{{RefusedThoughFree, 3, None}}},
		{"a reader whose release was not answered is gone when a writer was there", Model{}, []op{
			{0, 1, 0, AcquireShared, OK}, {2, 0, 0, Release, Unknown}, {10, 11, 1, Acquire, StrictFail},
			{20, 21, 2, Acquire, OK}, {22, 23, 2, Release, OK}, {24, 25, 3, AcquireShared, OK}, {26, 27, 3, Release, OK},
			{30, 31, 4, Acquire, StrictFail}, {32, 0, 5, Acquire, Unknown}, {33, 34, 5, Release, OK},
		}, []Finding{{RefusedThoughFree, 4, None}}},
		{"an unknown writer comes and goes between two readers", Model{}, []op{
			{0, 0, 0, Acquire, Unknown}, {2, 0, 0, Release, Unknown}, {3, 21, 1, AcquireShared, StrictFail},
			{4, 5, 2, AcquireShared, OK}, {6, 7, 2, Release, OK}, {12, 13, 3, AcquireShared, OK},
		}, nil},
		{"but needs a moment without any", Model{}, []op{
			{0, 0, 0, Acquire, Unknown}, {2, 0, 0, Release, Unknown}, {4, 5, 1, AcquireShared, OK},
			{8, 21, 2, AcquireShared, StrictFail}, {12, 13, 3, AcquireShared, OK}, {14, 15, 1, Release, OK},
		}, []Finding{{RefusedThoughFree, 2, None}}},
		{"an unsure reader stays until its release is called", Model{}, []op{
			{0, 0, 0, AcquireShared, Unknown}, {2, 3, 1, Acquire, StrictFail},
			{10, 11, 2, Acquire, OK}, {12, 13, 2, Release, OK}, {20, 21, 0, Release, OK},
		}, []Finding{{RefusedThoughFree, 1, None}}},
		{"an unknown writer is kept for the reader that only it can refuse", Model{}, []op{
			{0, 0, 0, AcquireShared, Unknown}, {1, 0, 0, Release, Unknown}, {2, 0, 1, Acquire, Unknown}, {3, 0, 1, Release, Unknown},
			{4, 5, 2, Acquire, StrictFail}, {6, 7, 3, Acquire, OK}, {8, 9, 3, Release, OK},
			{10, 11, 4, AcquireShared, StrictFail}, {12, 13, 1, Release, Fail},
		}, nil},
		{"who came and went before is not in the way of who lingers", Model{}, []op{
			{0, 0, 0, Acquire, Unknown}, {1, 6, 1, Acquire, OK}, {5, 12, 0, Release, OK}, {8, 0, 1, Release, Unknown},
			{14, 15, 2, Acquire, StrictFail},
		}, nil},
		{"nor is one that is counted spent where a reader does", Model{}, []op{
			{0, 0, 0, Acquire, Unknown}, {1, 0, 0, Release, Unknown}, {2, 0, 1, AcquireShared, Unknown}, {3, 0, 1, Release, Unknown},
			{4, 5, 2, Acquire, StrictFail}, {6, 7, 3, Acquire, OK}, {8, 9, 3, Release, OK}, {10, 11, 4, AcquireShared, StrictFail},
		}, nil},
		{"an unsure session may come after one that it could have preceded", Model{}, []op{
			{0, 0, 0, Acquire, Unknown}, {1, 5, 1, Acquire, OK}, {3, 20, 0, Release, OK}, {7, 8, 1, Release, OK},
			{10, 11, 2, Acquire, StrictFail},
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := history(c.ops...)
			expect(t, c.m, o, c.want)
		})
	}
}

// expect compares the findings with the expected ones and with the definition.
func expect(t *testing.T, m Model, o *Ops, want []Finding) {
	t.Helper()
	r := Check(m, o)
	if !slices.Equal(r.Findings, want) {
		t.Errorf("found %v, expected %v", r.Findings, want)
	}
	if (r.Verdict() == Violated) != (len(want) > 0) || (r.Verdict() == Valid) != linearizable(m, o) {
		t.Errorf("judged %s %s", r.Verdict(), r.Why)
	}
}

// TestOwners has histories of owners with several sessions.
func TestOwners(t *testing.T) {
	again, rw := Model{Reentrant: true}, Model{Reentrant: true}
	for _, c := range []struct {
		name   string
		m      Model
		owners []uint32
		ops    []op
		want   []Finding
	}{
		{"what an owner still holds keeps others out, whichever it left first", again, []uint32{0, 0, 1}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, Acquire, OK}, {4, 5, 0, Release, OK},
			{6, 7, 2, Acquire, OK}, {8, 9, 1, Release, OK},
		}, []Finding{{TwoHolders, 1, 2}}},
		{"the furthest end of another owner, and not of the same", Model{}, []uint32{0, 1, 0}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, Acquire, OK}, {4, 5, 2, Acquire, OK}, {6, 7, 1, Release, OK},
		}, []Finding{{TwoHolders, 0, 1}, {TwoHolders, 1, 2}}},
		{"a release gives back its own session", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, Acquire, OK}, {4, 5, 1, Release, OK}, {6, 7, 0, Release, Fail},
		}, []Finding{{Evicted, 0, None}}},
		{"and works once", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, Acquire, OK}, {4, 5, 1, Release, OK}, {6, 7, 1, Release, OK},
		}, []Finding{{ReleasedTwice, 1, None}}},
		{"an inner acquire that never happened was not there, and the outer one was", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK}, {2, 0, 1, Acquire, Unknown}, {3, 4, 1, Release, Fail}, {5, 6, 0, Release, OK},
		}, nil},
		{"an owner goes on after an unknown acquire, during which it may hold", again, []uint32{0, 0, 1}, []op{
			{0, 0, 0, Acquire, Unknown}, {1, 2, 1, Acquire, OK}, {3, 4, 1, Release, OK},
			{5, 6, 2, Acquire, StrictFail}, {7, 8, 0, Release, OK},
		}, nil},
		{"inside its own hold there is room for what has happened", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK}, {2, 0, 1, Acquire, Unknown}, {3, 4, 1, Release, OK}, {5, 6, 0, Release, OK},
		}, nil},
		{"inside another's there is none", again, []uint32{0, 1, 1}, []op{
			{0, 1, 0, Acquire, OK}, {2, 0, 1, Acquire, Unknown}, {3, 4, 1, Release, OK}, {5, 6, 0, Release, OK}, {7, 8, 2, Acquire, OK},
		}, []Finding{{ReleasedWithoutHolding, 1, None}}},
		{"an owner that may enter again is not refused for what it holds", again, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, Acquire, StrictFail},
		}, []Finding{{RefusedThoughFree, 1, None}}},
		{"any other is", Model{}, []uint32{0, 0}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, Acquire, StrictFail},
		}, nil},
		{"a session that was granted late was there before an earlier one of its owner", again, []uint32{0, 1, 2, 0}, []op{
			{0, 21, 0, Acquire, OK}, {1, 2, 1, Acquire, OK}, {3, 4, 1, Release, OK}, {5, 6, 2, Acquire, StrictFail},
			{7, 8, 3, Acquire, OK}, {9, 10, 3, Release, OK},
		}, nil},
		{"and then no other session came in between", again, []uint32{0, 1, 2, 0}, []op{
			{0, 30, 0, Acquire, OK}, {1, 0, 1, Acquire, Unknown}, {5, 6, 2, Acquire, StrictFail},
			{7, 8, 3, Acquire, OK}, {9, 10, 3, Release, OK}, {12, 13, 1, Release, OK},
		}, []Finding{{RefusedThoughFree, 2, None}}},
		{"another comes and goes before an owner that it refuses", again, []uint32{0, 1, 0}, []op{
			{0, 0, 0, Acquire, Unknown}, {1, 0, 0, Release, Unknown}, {2, 9, 1, Acquire, StrictFail}, {4, 5, 2, Acquire, OK},
		}, nil},
		{"a writer of the owner does not keep it from reading", rw, []uint32{0, 0, 1}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, AcquireShared, OK}, {4, 5, 0, Release, OK}, {6, 7, 2, AcquireShared, OK},
		}, nil},
		{"but others, as long as it writes", rw, []uint32{0, 0, 1}, []op{
			{0, 1, 0, Acquire, OK}, {2, 3, 1, AcquireShared, OK}, {4, 5, 2, AcquireShared, OK},
		}, []Finding{{ReaderAndWriter, 0, 2}}},
		{"a reader of another owner behind one of the writer's", rw, []uint32{0, 1, 0, 0}, []op{
			{0, 1, 0, AcquireShared, OK}, {2, 3, 1, AcquireShared, OK}, {4, 5, 2, AcquireShared, OK},
			{6, 7, 3, Acquire, OK}, {8, 9, 1, Release, OK},
		}, []Finding{{ReaderAndWriter, 1, 3}}},
		{"a writer whose release was answered finds room where only its owner reads", rw, []uint32{0, 1, 0}, []op{
			{0, 1, 0, AcquireShared, OK}, {2, 3, 1, AcquireShared, OK}, {4, 0, 2, Acquire, Unknown},
			{5, 20, 2, Release, OK}, {6, 7, 1, Release, OK},
		}, nil},
		{"and must have been released after the other", rw, []uint32{0, 1, 0}, []op{
			{0, 1, 0, AcquireShared, OK}, {2, 3, 1, AcquireShared, OK}, {4, 0, 2, Acquire, Unknown},
			{5, 6, 2, Release, OK}, {7, 8, 1, Release, OK},
		}, []Finding{{ReleasedWithoutHolding, 2, None}}},
		{"of an owner the reader comes early where the writer cannot", rw, []uint32{0, 0, 1, 2}, []op{
			{0, 20, 0, Acquire, OK}, {1, 30, 1, AcquireShared, OK}, {2, 3, 2, Acquire, StrictFail},
			{4, 5, 3, AcquireShared, OK}, {6, 7, 3, Release, OK},
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := history(c.ops...)
			o.Owners = c.owners
			expect(t, c.m, o, c.want)
		})
	}
}

// TestTooMuchIsUndecided checks that a search that grows too large is undecided and never valid.
func TestTooMuchIsUndecided(t *testing.T) {
	o := &Ops{}
	pos := uint32(0)
	at := func() uint32 { pos++; return pos }
	// Many acquires with unknown outcome are released at once, and one of them must explain the refusal.
	const n = 40
	for i := range uint32(n) {
		o.All = append(o.All, Op{at(), Never, i, Acquire, Unknown})
	}
	first := len(o.All)
	for i := range uint32(n) {
		o.All = append(o.All, Op{at(), 0, i, Release, OK})
	}
	call := at()
	o.All = append(o.All, Op{call, at(), n, Acquire, StrictFail})
	for i := range n {
		o.All[first+i].Ret = at()
	}
	for _, m := range []Model{{}, {Reentrant: true}} {
		if r := Check(m, o); r.Verdict() != Undecided || r.Why == "" {
			t.Errorf("%+v: judged %s %q; expected it to be given up, with the reason", m, r.Verdict(), r.Why)
		}
	}
}

// An unknown acquire with two concurrent answers not-held may come in between.
func TestDeniedTwiceAtOnce(t *testing.T) {
	o := history(
		op{0, 0, 0, Acquire, Unknown}, op{1, 3, 1, Acquire, StrictFail},
		op{2, 5, 0, Release, Fail}, op{4, 9, 0, Release, Fail}, op{6, 0, 0, Release, Unknown},
	)
	for _, m := range []Model{{}, {Reentrant: true}} {
		if r := Check(m, o); r.Verdict() != Valid {
			t.Errorf("%+v: judged %s %q, want valid", m, r.Verdict(), r.Why)
		}
	}
}

// Any number of releases at once may be denied.
func TestDeniedManyTimesAtOnce(t *testing.T) {
	const n = 1000
	o := history(op{0, 0, 0, Acquire, Unknown}, op{1, 3 + 2*n, 1, Acquire, StrictFail})
	for i := range uint32(n) {
		o.All = append(o.All, Op{3 + i, 3 + n + i, 0, Release, Fail})
	}
	if r := Check(Model{}, o); r.Verdict() != Valid {
		t.Errorf("judged %s %q, want valid", r.Verdict(), r.Why)
	}
}

// A claim that is met does not affect the next claim.
func TestClaimIsTakenBack(t *testing.T) {
	o := history(
		op{0, 0, 0, Acquire, Unknown}, op{1, 2, 1, Acquire, StrictFail}, op{3, 0, 0, Release, Unknown}, op{4, 5, 0, Release, Fail},
		op{6, 0, 2, Acquire, Unknown}, op{7, 10, 2, Release, Fail}, op{8, 9, 3, Acquire, StrictFail},
	)
	if r := Check(Model{}, o); r.Verdict() != Valid {
		t.Errorf("judged %s %v, want valid", r.Verdict(), r.Findings)
	}
}
