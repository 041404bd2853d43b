package checker

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/models"
	"lockbench/internal/history"
	"lockbench/internal/history/jepsen"
)

// JudgeJepsen judges the operations of a foreign history by a model that has no
// sessions: a mutex that anybody may release, a register. There is no theorem for
// these, so it is a search, and past its limit the verdict is unknown.
func JudgeJepsen(j *jepsen.History, m models.Model, limit models.Limit) (Report, error) {
	keys, err := jepsenCalls(j, m)
	if err != nil {
		return Report{}, err
	}
	r := Result{Name: Linearizable{}.Name()}
	until := time.Now().Add(limit.Time)
	for _, k := range keys {
		limit.Time = max(time.Millisecond, time.Until(until))
		found := models.Search(m.New(models.Params{}), k.events, limit)
		switch {
		case found.Exhausted != "":
			r.Verdict = max(r.Verdict, Unknown)
			r.Why = fmt.Sprintf("the search over %d operations%s, %d of unknown outcome, came to its limit of %s", k.ops, k.on(), k.unknown, found.Exhausted)
		case !found.Linearizable:
			r.Findings = append(r.Findings, k.unexplained(j, m, limit))
		}
	}
	if r.Violations = len(r.Findings); r.Violations > 0 {
		r.Verdict, r.Why = Violated, ""
	}
	return compose([]Result{r}), nil
}

// jepsenKey are the operations on one key.
type jepsenKey struct {
	calls
	ids    map[string]int64 // values by how they are written
	ops    []int            // by event: its place in the history
	closed int              // events that stand in the history
}

func (k *jepsenKey) on() string {
	if k.key == "" {
		return ""
	}
	return " on " + k.key
}

// jepsenCalls makes calls of operations, key by key.
func jepsenCalls(j *jepsen.History, m models.Model) ([]*jepsenKey, error) {
	var keys []*jepsenKey
	place := map[string]*jepsenKey{}
	type outstanding struct {
		k  *jepsenKey
		id int
		op *jepsen.Op
	}
	open := map[int64]outstanding{}
	for i := range j.Ops {
		op := &j.Ops[i]
		if op.Nemesis {
			continue
		}
		was, is := open[op.Process]
		wrong := func(format string, args ...any) error {
			return history.Malform(op.Line, "model", "process %d: %s", op.Process, fmt.Sprintf(format, args...))
		}
		if op.Type == history.Invoke {
			if is {
				return nil, wrong("it invokes %s, but its %s (line %d) has not completed; expected that one's completion first", op.F, was.op.F, was.op.Line)
			}
			name, value := jepsenValue(op, m)
			k := place[name]
			if k == nil {
				k = &jepsenKey{calls: calls{key: name}, ids: map[string]int64{"nil": 0}}
				place[name] = k
				keys = append(keys, k)
			}
			c, err := k.jepsenCall(op, m, value)
			if err != nil {
				return nil, wrong("%v", err)
			}
			id := k.calls.ops
			k.calls.ops++
			k.unknown++ // until it is known
			k.put(i, porcupine.Event{ClientId: int(op.Process), Kind: porcupine.CallEvent, Id: id, Value: c})
			open[op.Process] = outstanding{k, id, op}
			continue
		}
		if !is || was.op.F != op.F {
			return nil, wrong("it completes %s with %s and did not invoke it; expected the invocation before", op.F, op.Type)
		}
		delete(open, op.Process)
		if op.Type == history.Info {
			continue // it may take effect at any later time
		}
		was.k.unknown--
		a := models.Answer{Outcome: models.OK}
		if op.Type == history.Fail {
			a.Outcome = models.Fail
		} else if op.F == "read" {
			_, value := jepsenValue(op, m)
			a.Value = was.k.value(value)
		}
		was.k.put(i, porcupine.Event{ClientId: int(op.Process), Kind: porcupine.ReturnEvent, Id: was.id, Value: a})
	}
	for _, k := range keys {
		k.closed = len(k.events)
		k.events = models.Close(k.events)
	}
	return keys, nil
}

func (k *jepsenKey) put(at int, e porcupine.Event) {
	k.events = append(k.events, e)
	k.ops = append(k.ops, at)
}

// jepsenValue takes a value apart into the key that it is about and the rest, where it
// is of the form [key value].
func jepsenValue(op *jepsen.Op, m models.Model) (key string, rest jepsen.Value) {
	v := op.Value
	if v.Kind != jepsen.List || len(v.Items) != 2 {
		return "", v
	}
	// The two of a compare-and-set alone are no key and value.
	if op.F == "cas" && v.Items[1].Kind != jepsen.List {
		return "", v
	}
	return v.Items[0].String(), v.Items[1]
}

// value numbers what is written and read. nil, the value before any write, is 0.
func (k *jepsenKey) value(v jepsen.Value) int64 {
	text := v.String()
	id, ok := k.ids[text]
	if !ok {
		id = int64(len(k.ids))
		k.ids[text] = id
	}
	return id
}

func (k *jepsenKey) jepsenCall(op *jepsen.Op, m models.Model, value jepsen.Value) (models.Call, error) {
	c := models.Call{Session: 1, Owner: 1}
	switch {
	case m.Lock && (op.F == "acquire" || op.F == "lock"):
		c.Kind = models.Acquire
	case m.Lock && (op.F == "release" || op.F == "unlock"):
		c.Kind = models.Release
	case !m.Lock && op.F == "read":
		c.Kind = models.Read
	case !m.Lock && op.F == "write":
		c.Kind, c.Value = models.Write, k.value(value)
	case m.Name == "cas-register" && op.F == "cas":
		if value.Kind != jepsen.List || len(value.Items) != 2 {
			return c, fmt.Errorf("its cas has the value %s; expected [old new]", value)
		}
		c.Kind, c.Old, c.Value = models.CAS, k.value(value.Items[0]), k.value(value.Items[1])
	default:
		return c, fmt.Errorf("it does %s, which the model %s does not know; expected %s", op.F, m.Name, strings.Join(jepsenOperations(m), ", "))
	}
	return c, nil
}

func jepsenOperations(m models.Model) []string {
	switch {
	case m.Lock:
		return []string{"acquire", "release"}
	case m.Name == "cas-register":
		return []string{"read", "write", "cas"}
	}
	return []string{"read", "write"}
}

// unexplained finds the last operation of the shortest beginning that has no order.
func (k *jepsenKey) unexplained(j *jepsen.History, m models.Model, limit models.Limit) Finding {
	low, high := 0, k.closed
	for low+1 < high {
		mid := (low + high) / 2
		if models.Search(m.New(models.Params{}), k.upTo(mid), limit).Linearizable {
			low = mid
		} else {
			high = mid
		}
	}
	op := &j.Ops[k.ops[high-1]]
	answer := op.Type.String()
	if !op.Value.IsNil() {
		answer += " " + op.Value.String()
	}
	return Finding{
		Rule: "not-linearizable", Key: k.key, Events: []int{op.Index}, Event: op.Index,
		Text: fmt.Sprintf("no order of the operations%s explains that process %d's %s was answered with %s (line %d)",
			k.on(), op.Process, op.F, answer, op.Line),
	}
}

// Strays makes a check of the releases that were answered with ok though their process
// held nothing: of a lock with owners there is nothing that they could have released.
func Strays(r Report, strays []jepsen.Stray) Report {
	var findings []Finding
	for _, s := range strays {
		findings = append(findings, Finding{
			Rule: "released-without-holding", Events: []int{s.Index}, Event: s.Index,
			Text: fmt.Sprintf("process %d released and was told ok (line %d), but held nothing; if anybody may release this lock, its model is mutex", s.Process, s.Line),
		})
	}
	if len(findings) == 0 {
		return r
	}
	checks := append([]Result(nil), r.Checks...)
	return compose(append(checks, violated("releases", findings)))
}
