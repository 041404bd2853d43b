package checker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lockbench/internal/history"
	"lockbench/locks"
)

// notation writes a history in the form of golden files, so that a history that breaks a law can be kept as a golden
// file. Times are rounded to microseconds.
func notation(h *history.History) string {
	var b strings.Builder
	bare := h.Header
	bare.Lockbench = ""
	if header, err := json.Marshal(bare); err == nil && string(header) != `{"lockbench":""}` {
		fmt.Fprintf(&b, "header %s\n", strings.Replace(string(header), `"lockbench":"",`, "", 1))
	}
	n := notes{names: map[string]string{}, attempts: map[int32]int{}, latest: map[int32]string{}}
	for i := range h.Events {
		e := &h.Events[i]
		line := strings.Join(n.words(e), " ")
		// Six digits, without the last three if they are zero.
		at := strings.TrimSuffix(fmt.Sprintf("%.6f", e.Time.Seconds()), "000")
		fmt.Fprintf(&b, "%s %s\n", at, line)
	}
	return b.String()
}

// notes is the state of the notation. The sessions of a client are numbered in their order, and a line belongs to the
// latest session unless it names another one.
type notes struct {
	names    map[string]string
	attempts map[int32]int
	latest   map[int32]string
}

func (n *notes) words(e *history.Event) []string {
	var w []string
	add := func(yes bool, format string, args ...any) {
		if yes {
			w = append(w, fmt.Sprintf(format, args...))
		}
	}
	switch e.Process {
	case history.Nemesis:
		w = []string{"nemesis", e.F, cmp.Or(e.Phase, history.Begins)}
		add(e.Step > 0, "step=%d", e.Step)
		add(len(e.Targets) > 0, "targets=%s", strings.Join(e.Targets, ","))
		return w
	case history.Probe:
		return append([]string{"probe"}, n.facts(heard(e))...)
	}
	w = []string{fmt.Sprintf("c%d", e.Client)}
	if int32(e.Process) != e.Client && e.F != history.Died {
		w[0] += fmt.Sprintf("/%d", e.Process)
	}
	switch {
	case e.F == history.Acquire && e.Type == history.Invoke:
		n.attempts[e.Client]++
		n.names[e.Session] = fmt.Sprintf("%d.%d", e.Client, n.attempts[e.Client])
		n.latest[e.Client] = e.Session
		add(true, "acquire")
		add(e.Key != "", "%s", e.Key)
		add(len(e.Keys) > 0, "keys=%s", strings.Join(e.Keys, ","))
		add(e.Owner != "", "owner=%s", e.Owner)
		add(e.Mode == locks.Shared, "mode=shared")
		add(e.TTL > 0, "ttl=%s", e.TTL)
		add(e.Wait > 0, "wait=%s", e.Wait)
		return w
	case e.Type == history.Invoke, e.F == history.Lost, e.F == history.Died:
		add(true, "%s", e.F)
		add(e.Session == "" && e.F == history.FRead, "session=none")
		add(e.Session != "" && e.Session != n.latest[e.Client], "session=%s", n.names[e.Session])
		add(e.Key != "", "key=%s", e.Key)
		add(e.TTL > 0, "ttl=%s", e.TTL)
		add(e.Resource != "", "resource=%s", e.Resource)
		add(e.Token != nil, "token=%d", orZero(e.Token))
		add(e.Value != nil, "value=%d", orZero(e.Value))
		return w
	}
	add(true, "%s", e.Type)
	add(e.Error != "", "%s", e.Error)
	add(e.Strict, "strict=true")
	add(e.Unconfirmed, "unconfirmed=true")
	add(e.FromAnswer, "from_answer=true")
	add(e.Until != nil, "until=%s", e.Until)
	add(e.Token != nil && e.F == history.Acquire, "token=%d", orZero(e.Token))
	add(e.Value != nil && e.F == history.FRead, "value=%d", orZero(e.Value))
	add(e.Renewed, "renewed=true")
	add(e.Lease > 0, "lease=%s", e.Lease)
	add(e.Period > 0, "period=%s", e.Period)
	return w
}

func (n *notes) facts(s said) (w []string) {
	name := func(session string) string { return cmp.Or(n.names[session], "absent") }
	switch {
	case s.quiet != "":
		w = []string{"quiet=" + s.quiet}
	case len(s.queued) > 0:
		w = []string{"queued=" + name(s.queued[0])}
	case s.kept != "":
		w = []string{"session=" + name(s.kept), fmt.Sprintf("ttl=%s", s.ttl)}
	case s.looked && len(s.left) > 0:
		w = []string{"left=" + s.left[0]}
		if len(s.ending) > 0 {
			w = append(w, "ending="+s.ending[0])
		}
	case s.counted:
		w = []string{fmt.Sprintf("client=%d", s.client), fmt.Sprintf("commands=%d", s.sent)}
	case s.stepped != 0:
		w = []string{fmt.Sprintf("clock_step_ns=%d", int64(s.stepped))}
	case s.master != "":
		w = []string{"master=" + s.master}
	default:
		w = []string{"nothing=1"}
	}
	return w
}

// A history in this notation gets the verdict of the original. The notation supports one name in each list of a probe.
func TestNotation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawn(t)
		if slices.ContainsFunc(h.Events, func(e history.Event) bool {
			s := heard(&e)
			return len(s.queued) > 1 || len(s.left) > 1 || s.looked && len(s.left) == 0
		}) {
			return
		}
		text := notation(h)
		read, _, err := parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		names := map[string]string{}
		for i, s := range read.Sessions {
			names[s.Name] = h.Sessions[i].Name
		}
		if broken := differ(h, read, seen{session: func(name string) string { return names[name] }}); broken != "" {
			t.Fatalf("what was written and read is judged otherwise\n%s\n%s", broken, text)
		}
	})
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
