package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockbench/checker"
	"lockbench/internal/history"
)

// harm are the writes of the two holders from the time when both held, and the writes that were lost with them. The judge
// says which writes are lost. A write that was undone need not be: another client that had read it may bring its effect back,
// and then the write that undid it is lost.
type harm struct {
	writes map[int]write // by the position of the invocation
	alone  bool          // no two sessions held together
	judged bool          // the judge knows which writes are lost
}

// write is one write of one of the holders.
type write struct {
	client  string
	value   int64
	over    *int64 // the value before; nil: unknown
	undone  []int  // the writes of others that this one undid, by the positions of their answers
	lost    []int  // those of them that are lost, and itself if it is lost
	form    string // of the resource: plain or fenced
	refused bool
}

// measureHarm follows the resource through the history up to the end of the incident.
//
// The workload reads a value and writes the next. A write therefore undoes the writes of others since its client's
// read:
//
//	client 3 reads 17 · client 5 writes 18 · client 8 writes 19 · client 3 writes 18    two writes undone, and lost
//	                                                       client 6, which read 19, writes 20    only the last 18 is lost
//
// A history that does not record reads is counted by values instead: writing 18
// over 102 undoes 85 steps.
func measureHarm(n *incident, lost map[int]bool) harm {
	m := harm{writes: map[int]write{}, alone: !n.together, judged: lost != nil}
	if n.a == nil {
		return m
	}
	type access struct {
		history.Op
		session *history.Session
	}
	var all []access
	for _, session := range n.h.Sessions {
		if !slices.Contains(session.Keys, n.key) {
			continue
		}
		for _, op := range session.Ops {
			if (op.F == history.FRead || op.F == history.Write) && op.Return >= 0 && op.Return <= n.ends {
				all = append(all, access{op, session})
			}
		}
	}
	slices.SortFunc(all, func(a, b access) int { return a.Return - b.Return })
	type state struct {
		value  *int64
		writes []int                    // applied so far, by the positions of their answers
		read   map[*history.Session]int // how many there were at its last read
	}
	states := map[string]*state{}
	for _, op := range all {
		form := n.form(op.Op)
		now := states[form]
		if now == nil {
			now = &state{read: map[*history.Session]int{}}
			states[form] = now
		}
		if op.F == history.FRead {
			if op.Outcome == history.Done {
				now.read[op.session] = len(now.writes)
			}
			continue
		}
		w := write{over: now.value, form: form, refused: op.Outcome == history.Failed}
		if value := cmp.Or(n.h.At(op.Return).Value, n.h.At(op.Invoke).Value); value != nil {
			w.value = *value
		}
		switch op.Outcome {
		case history.Done:
			if since, ok := now.read[op.session]; ok {
				w.undone = now.writes[since:]
			} else if w.over != nil && w.value <= *w.over {
				w.undone = now.writes[max(0, len(now.writes)-int(*w.over-w.value+1)):]
			}
			for _, pos := range append(slices.Clone(w.undone), op.Return) {
				if lost[pos] {
					w.lost = append(w.lost, pos)
				}
			}
			now.writes = append(now.writes, op.Return)
			now.value = &w.value
			now.read[op.session] = len(now.writes) // a client does not undo its own writes
		case history.Maybe:
			continue
		}
		for _, t := range n.holders() {
			if t.session == op.session && op.Return > n.meets {
				w.client = t.name
				m.writes[op.Invoke] = w
			}
		}
	}
	return m
}

// lostWrites returns the positions at which the writes were answered that the judge found lost; nil if it is not known.
func lostWrites(judged checker.Report) map[int]bool {
	r, ok := judged.Check(checker.Resource)
	if !ok || r.Lost == nil {
		return nil
	}
	lost := map[int]bool{}
	for _, pos := range r.Lost {
		lost[pos] = true
	}
	return lost
}

// form is the form of the resource, plain or fenced, of a read or write.
func (n *incident) form(op history.Op) string {
	answered := ""
	if op.Return >= 0 {
		answered = n.h.At(op.Return).Resource
	}
	return cmp.Or(answered, n.h.At(op.Invoke).Resource, history.Plain)
}

// write describes a write of a holder, with a note on what it undid. bad reports a write that was refused or undid
// others.
func (m *harm) write(op *history.Op) (what, note string, bad bool) {
	w, ok := m.writes[op.Invoke]
	if !ok {
		return "writes", "", false
	}
	what = "writes " + strconv.FormatInt(w.value, 10)
	switch {
	case w.refused && w.form == history.Fenced:
		return what + ": the fenced resource refuses", "", true
	case w.refused:
		return what + ": refused", "", true
	case len(w.undone) > 0 && w.over != nil:
		what += " over " + strconv.FormatInt(*w.over, 10)
		if m.judged {
			note = Plural(len(w.lost), "write") + " lost"
		}
		return what, note, true
	}
	return what, "", false
}

// words sum up the harm.
func (m *harm) words() string {
	plain := false
	for _, w := range m.writes {
		plain = plain || w.form != history.Fenced
	}
	var worst *write
	lost, refused := map[int]bool{}, 0
	for _, at := range slices.Sorted(maps.Keys(m.writes)) {
		switch w := m.writes[at]; {
		case w.refused:
			refused++
		case plain && w.form == history.Fenced: // the plain form shows the same harm
		default:
			for _, pos := range w.lost {
				lost[pos] = true
			}
			if len(w.undone) > 0 && w.over != nil && (worst == nil || len(w.lost) > len(worst.lost)) {
				worst = &w
			}
		}
	}
	var parts []string
	if worst != nil {
		text := fmt.Sprintf("%s wrote %d over %d", worst.client, worst.value, *worst.over)
		if m.judged {
			text = Plural(len(lost), "write") + " lost: " + text
		}
		parts = append(parts, text)
	}
	if refused > 0 {
		parts = append(parts, "the fenced resource refused "+Plural(refused, "write"))
	}
	switch {
	case worst != nil:
		return strings.Join(parts, "; ") + "."
	case refused > 0:
		return "none: " + parts[0] + "."
	case m.alone:
		return ""
	case len(m.writes) > 0:
		return "none: neither wrote over what the other had written."
	}
	return "none: neither wrote while both held."
}
