package models

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSteps runs steps one after the other. A step is written as its session, call and
// outcome: "1 acquire ok", "2 acquire refused", "1 release" (unknown). A letter before a session
// is its owner.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		model string
		steps string
		legal bool
	}{
		{"owner-mutex", "1 acquire ok, 2 release ok", false},
		{"owner-mutex", "1 acquire ok, 2 release refused, 1 release ok, 2 acquire ok", true},
		{"owner-mutex", "1 acquire ok, 1 release refused", false},
		{"owner-mutex", "1 acquire ok, 1 acquire ok", false},
		{"owner-mutex", "1 acquire ok, 1 renew ok, 1 use ok, 1 release ok", true},
		{"owner-mutex", "1 acquire ok, 1 release ok, 1 renew ok", false},
		{"owner-mutex", "1 acquire ok, 1 release ok, 1 use ok", false},
		{"owner-mutex", "1 acquire ok, 1 release ok, 1 renew refused", true},
		{"owner-mutex", "1 acquire ok, 1 release, 2 acquire ok", true},
		{"owner-mutex", "1 acquire ok, 1 release, 1 release ok", true},
		{"owner-mutex", "1 acquire ok, 1 release, 2 acquire ok, 1 release ok", false},
		{"owner-mutex", "1 acquire, 2 acquire ok", true}, // the first may come later, or never
		{"owner-mutex", "1 acquire, 1 release ok", true},
		{"owner-mutex", "1 acquire, 2 acquire refused", true},
		{"owner-mutex", "1 acquire ok, 1 expire, 2 acquire ok, 1 release refused", true},
		{"owner-mutex", "1 acquire ok, 1 expire, 2 acquire ok, 1 use ok", false},
		{"owner-mutex", "x1 acquire ok, x2 acquire refused", true}, // its own hold is a reason
		{"owner-mutex", "x1 acquire ok, x2 acquire ok, x1 release ok, y3 acquire refused", true},
		{"reentrant", "x1 acquire ok, x2 acquire ok, x2 release ok, y3 acquire refused, x1 release ok, y3 acquire ok", true},
		{"reentrant", "x1 acquire ok, x2 acquire ok, x1 release ok, y3 acquire ok", false},
		{"reentrant", "x1 acquire ok, x2 acquire ok, x1 release ok, x2 release ok, y3 acquire ok", true}, // in any order
		{"reentrant", "x1 acquire ok, x1 release ok, x1 release ok", false},
		{"reentrant", "x1 acquire ok, x2 acquire ok, x1 release ok, x1 release ok", false}, // that would be another's
		{"reentrant", "x1 acquire ok, x2 acquire, x1 release ok, y3 acquire ok", true},
		{"reentrant", "x1 acquire ok, x2 acquire, x2 release refused, x1 release ok", true},
		{"reentrant", "x1 acquire ok, x2 acquire refused", false},
		{"reentrant", "x1 acquire ok, y2 release refused", true},
		{"rw", "1 read ok, 2 read ok, 3 acquire refused, 1 release ok, 2 release ok, 3 acquire ok", true},
		{"rw", "1 read ok, 2 acquire ok", false},
		{"rw", "1 acquire ok, 2 read ok", false},
		{"rw", "1 acquire ok, 2 read refused, 1 release ok, 2 read ok, 2 release ok", true},
		{"rw", "1 read ok, 2 release ok", false},
		{"rw", "1 read ok, 1 release ok, 1 release refused", true},
		{"rw", "x1 acquire ok, x2 read ok, x1 release ok, y3 read ok, y4 acquire refused", true},
		{"rw", "x1 read ok, x2 acquire ok, y3 read refused", true},
		{"rw", "x1 read ok, y2 read ok, x3 acquire ok", false},
		{"rw", "x1 read ok, x2 acquire refused", true},
		{"rw+", "x1 read ok, x2 acquire refused", false},
		{"rw", "x1 read ok, x2 read refused", false},
	} {
		events, err := steps(c.steps)
		if err != nil {
			t.Fatal(err)
		}
		r := Search(Lock(c.model == "reentrant" || c.model == "rw+"), events, Limit)
		if r.Exhausted || r.Linearizable != c.legal {
			t.Errorf("%s: %s: legal is %t, exhausted %t; want %t", c.model, c.steps, r.Linearizable, r.Exhausted, c.legal)
		}
	}
}

func steps(text string) ([]porcupine.Event, error) {
	var events []porcupine.Event
	for id, step := range strings.Split(text, ", ") {
		words := strings.Fields(step)
		name := strings.TrimLeft(words[0], "xyz")
		who, err := strconv.Atoi(name)
		if err != nil {
			return nil, err
		}
		c := Call{Session: int32(who), Owner: int32(who)}
		if name != words[0] {
			c.Owner = int32(words[0][0])
		}
		switch words[1] {
		case "read":
			c.Shared = true
		default:
			for k := Acquire; k <= Expire; k++ {
				if k.String() == words[1] {
					c.Kind = k
				}
			}
		}
		words = words[2:]
		events = append(events, porcupine.Event{ClientId: who, Kind: porcupine.CallEvent, Id: id, Value: c})
		if len(words) == 0 {
			continue
		}
		a := map[string]Outcome{"ok": OK, "fail": Fail, "refused": Refused}[words[0]]
		events = append(events, porcupine.Event{ClientId: who, Kind: porcupine.ReturnEvent, Id: id, Value: a})
	}
	return Close(events), nil
}

// Without Close a call that never returns is impossible, whatever the model says.
func TestCloseIsNeeded(t *testing.T) {
	events, err := steps("1 acquire")
	if err != nil {
		t.Fatal(err)
	}
	if !porcupine.CheckEvents(Lock(false), events) {
		t.Error("closed: not linearizable")
	}
	if porcupine.CheckEvents(Lock(false), events[:1]) {
		t.Error("porcupine takes calls without a return by itself now; Close is needed no more")
	}
}

// hard are so many acquires that are lost, and then two holders: to refute it, a search
// has to try every set of them.
func hard(lost int) []porcupine.Event {
	var text []string
	for i := range lost {
		text = append(text, fmt.Sprintf("%d acquire", i+10))
	}
	text = append(text, "1 acquire ok", "1 use ok", "2 acquire ok")
	events, err := steps(strings.Join(text, ", "))
	if err != nil {
		panic(err)
	}
	return events
}

// TestLimit: a search that comes to its limit has no answer.
func TestLimit(t *testing.T) {
	m := Lock(false)
	if r := Search(m, hard(4), Limit); r.Exhausted || r.Linearizable {
		t.Errorf("few unknown acquires: %+v; want that it is refuted", r)
	}
	if r := Search(m, hard(30), 1<<20); !r.Exhausted || r.Linearizable {
		t.Errorf("30 unknown acquires: %+v; want that the limit ended it", r)
	}
	if r := Search(m, hard(4), 10); !r.Exhausted || r.Linearizable {
		t.Errorf("10 steps: %+v; want that the limit ended it", r)
	}
	var page bytes.Buffer
	if drawn, err := Draw(&page, m, hard(30), nil); drawn || err != nil || page.Len() > 0 {
		t.Errorf("drew %t, %d bytes, %v; want nothing, since the search has no answer", drawn, page.Len(), err)
	}
}
