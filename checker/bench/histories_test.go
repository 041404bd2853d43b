package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"lockbench/checker/internal/models"
	"lockbench/checker/internal/oracle"
	"lockbench/checker/internal/sweep"
)

var cases = []Case{
	{Name: "mutex", Ops: 120, Locks: 2, Clients: 4},
	{Name: "unknown", Ops: 60, Clients: 3, Unknown: 0.1},
	{Name: "lost", Ops: 100, Clients: 4, Lost: 5},
	{Name: "late", Ops: 100, Clients: 4, Lost: 3, Late: true},
	{Name: "rw", Shared: true, Ops: 80, Clients: 4, Unknown: 0.05},
	{Name: "reentrant", Model: sweep.Model{Reentrant: true}, Ops: 80, Clients: 3, Unknown: 0.05},
}

// The measured histories have their intended verdict on both sides.
func TestHistories(t *testing.T) {
	for _, c := range cases {
		for seed := range uint64(20) {
			c.Seed = seed
			worst, n, linearizable := valid, 0, true
			for _, o := range c.Histories() {
				n += len(o.All)
				worst = max(worst, verdictOf(sweep.Check(c.Model, o)))
				found := models.Search(oracle.Model(c.Model), oracle.Events(o), models.Limit)
				if found.Exhausted {
					t.Fatalf("%s, seed %d: porcupine came to its limit", c.Name, seed)
				}
				linearizable = linearizable && found.Linearizable
			}
			if err := expect(c, worst); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			if linearizable == c.Late {
				t.Errorf("%s, seed %d: that it is linearizable is %t for porcupine", c.Name, seed, linearizable)
			}
			if n != c.Ops {
				t.Errorf("%s, seed %d: %d operations, want %d", c.Name, seed, n, c.Ops)
			}
			if c.Lost > 0 && unknownOf(c.Histories()) < c.Lost {
				t.Errorf("%s, seed %d: %d unknown, want %d", c.Name, seed, unknownOf(c.Histories()), c.Lost)
			}
		}
	}
}

func TestPorcupineInChild(t *testing.T) {
	limit := Limit{Time: time.Minute, Memory: 4 << 30}
	for _, c := range []Case{cases[0], cases[3]} {
		m, err := porcupineOn(t.Context(), c, limit)
		if err != nil || m.GaveUp != "" || m.Linearizable == c.Late || m.Took <= 0 {
			t.Errorf("%s: %+v, %v", c.Name, m, err)
		}
	}
}

// A child that exceeds its limits is killed, and the row says so.
func TestPorcupineInChildGivesUp(t *testing.T) {
	much := Case{Ops: 4_000, Clients: 5, Lost: 40, Late: true}
	m, err := porcupineOn(t.Context(), much, Limit{Time: 300 * time.Millisecond, Memory: 8 << 30})
	if err != nil || m.GaveUp != "time" {
		t.Errorf("with little time: %+v, %v", m, err)
	}
	m, err = porcupineOn(t.Context(), much, Limit{Time: time.Minute, Memory: 32 << 20})
	if err != nil || m.GaveUp != "memory" {
		t.Errorf("with little memory: %+v, %v", m, err)
	}
}

func TestPrint(t *testing.T) {
	var b bytes.Buffer
	rows := []Row{{What: "a", Goal: "≤ 1", Reached: "2", Detail: "why"}, {What: "b", Reached: "3"}}
	if err := printRows(&b, rows); err != nil {
		t.Fatal(err)
	}
	want := "| | goal | reached | |\n| --- | --- | --- | --- |\n| a | ≤ 1 | **short** 2 | why |\n| b |  | 3 |  |\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if !strings.Contains(machine(), "cores") {
		t.Error(machine())
	}
}
