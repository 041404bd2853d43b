package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"lockbench/internal/history"
)

// harm are the writes of the two holders from the time when both held, and the writes that they undid.
type harm struct {
	h *history.History
	// writes has the writes of the story by the position of their invocation.
	writes map[int]write
	alone  bool // no two sessions held together
}

// write is one write of one of the holders.
type write struct {
	tenure  *tenure
	value   int64
	over    int64 // the value before
	hasOver bool
	lost    int // writes of others that this one undid
	fenced  bool
	refused bool
}

// measureHarm follows the resource through the history up to the end of the story.
//
// The workload reads a value and writes the next. A write therefore undoes the writes of others since its client's
// read:
//
//	client 3 reads 17 · client 5 writes 18 · client 8 writes 19 · client 3 writes 18    two writes lost
//
// A history that does not record reads is counted by values instead: writing 18
// over 102 undoes 85 steps.
func measureHarm(s *story) harm {
	m := harm{h: s.h, writes: map[int]write{}, alone: !s.together}
	if s.a == nil {
		return m
	}
	keys := map[string]string{}
	for _, session := range s.h.Sessions {
		if slices.Contains(session.Keys, s.key) {
			keys[session.Name] = s.key
		}
	}
	type form struct { // of the resource: plain or fenced
		value    int64
		hasValue bool
		writes   int            // applied so far
		read     map[string]int // by session: writes at its last read
	}
	forms := map[string]*form{}
	called := map[history.Process]int{}
	for pos := 0; pos <= s.ends; pos++ {
		e := s.h.At(pos)
		if e.F != history.FRead && e.F != history.Write || keys[e.Session] == "" {
			continue
		}
		if e.Type == history.Invoke {
			called[e.Process] = pos
			continue
		}
		call, ok := called[e.Process]
		if !ok {
			continue
		}
		invoked := s.h.At(call)
		name := cmp.Or(e.Resource, invoked.Resource, history.Plain)
		f := forms[name]
		if f == nil {
			f = &form{read: map[string]int{}}
			forms[name] = f
		}
		if e.F == history.FRead {
			if e.Type == history.OK {
				f.read[e.Session] = f.writes
			}
			continue
		}
		w := write{over: f.value, hasOver: f.hasValue, fenced: name == history.Fenced}
		if value := cmp.Or(e.Value, invoked.Value); value != nil {
			w.value = *value
		}
		w.tenure = s.holder(e.Session)
		switch e.Type {
		case history.OK:
			if since, ok := f.read[e.Session]; ok {
				w.lost = f.writes - since
			} else if w.hasOver && w.value <= w.over {
				w.lost = int(w.over - w.value + 1)
			}
			f.writes++
			f.value, f.hasValue = w.value, true
			// A client does not lose its own writes.
			f.read[e.Session] = f.writes
		case history.Fail:
			w.refused = true
		default:
			continue
		}
		if w.tenure != nil && pos > s.meets {
			m.writes[call] = w
		}
	}
	return m
}

// holder is the holder with a session's name, or nil.
func (s *story) holder(session string) *tenure {
	switch {
	case s.a != nil && s.a.session.Name == session:
		return s.a
	case s.b != nil && s.b.session.Name == session:
		return s.b
	}
	return nil
}

// write describes a write of a holder, with a note on what it undid. bad reports a write that was refused or undid
// others.
func (m *harm) write(op *history.Op) (what, note string, bad bool) {
	w, ok := m.writes[op.Invoke]
	if !ok {
		return "writes", "", false
	}
	value := strconv.FormatInt(w.value, 10)
	switch {
	case w.refused && w.fenced:
		return "writes " + value + ": the fenced resource refuses", "", true
	case w.refused:
		return "writes " + value + ": refused", "", true
	case w.lost > 0 && w.hasOver:
		return "writes " + value + " over " + strconv.FormatInt(w.over, 10), Plural(w.lost, "write") + " lost", true
	}
	return "writes " + value, "", false
}

// words sum up the harm.
func (m *harm) words() string {
	var lost, refused int
	var worst *write
	for _, w := range m.writes {
		if w.refused {
			refused++
			continue
		}
		if w.fenced && m.bothForms() {
			continue // the plain form shows the same loss
		}
		lost += w.lost
		if w.lost > 0 && (worst == nil || w.lost > worst.lost) {
			worst = &w
		}
	}
	var fence string
	if refused > 0 {
		fence = fmt.Sprintf("the fenced resource refused %s", Plural(refused, "write"))
	}
	switch {
	case worst != nil:
		text := fmt.Sprintf("%s lost", Plural(lost, "write"))
		if worst.hasOver {
			text += fmt.Sprintf(": %s wrote %d over %d", worst.tenure.name, worst.value, worst.over)
		}
		if fence != "" {
			text += "; " + fence
		}
		return text + "."
	case fence != "":
		return "none: " + fence + "."
	case len(m.writes) > 0 && !m.alone:
		return "none: neither wrote over what the other had written."
	}
	if m.alone {
		return ""
	}
	return "none: neither wrote while both held."
}

// bothForms reports whether both the plain and the fenced form were written to.
func (m *harm) bothForms() bool {
	var plain, fenced bool
	for _, w := range m.writes {
		plain, fenced = plain || !w.fenced, fenced || w.fenced
	}
	return plain && fenced
}

// invocation finds the call that an answer belongs to.
func (m *harm) invocation(index int, session string) *history.Event {
	for pos := m.h.Position(index); pos >= 0; pos-- {
		if e := m.h.At(pos); e.Type == history.Invoke && e.Session == session && e.F == history.Write {
			return e
		}
	}
	return nil
}
