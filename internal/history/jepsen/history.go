// Package jepsen reads the histories of other programs: those that Jepsen records, as EDN or
// as JSON. [Open] takes a file in any format, lockbench's own included, and finds the format by
// looking. [History.Lock] makes sessions of operations on a lock.
//
// The EDN reader is its own: the one for Go (olympos.io/encoding/edn, unchanged since 2020)
// knows no lines.
package jepsen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"lockbench/internal/history"
)

// Op is one operation of a history that Jepsen recorded: an invocation or a completion, of a
// client or of the nemesis.
type Op struct {
	Line    int
	Index   int   // as recorded, or its place in the file
	Time    int64 // ns as recorded, or 0
	Process int64
	Nemesis bool
	Type    history.Type
	F       string
	Value   Value
	Error   string
}

// History is a history that Jepsen recorded, in order.
type History struct {
	Ops      []Op
	Torn     bool
	Warnings []string
}

// byteOrderMark begins the files of some editors.
const byteOrderMark = "\xef\xbb\xbf"

// read reads a history: operations one after the other, or in one list.
func read(in io.Reader, asJSON bool) (*History, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	j, r := &History{}, &reader{in: bytes.TrimPrefix(text, []byte(byteOrderMark)), json: asJSON, line: 1}
	switch err := j.readAll(r); {
	case errors.Is(err, errCutShort):
		j.Torn = true
		j.Warnings = append(j.Warnings, fmt.Sprintf("line %d is cut off and was left out; whatever wrote this history was stopped in the middle of it", r.line))
	case err != nil:
		return nil, err
	}
	if len(j.Ops) == 0 {
		return nil, history.Malform(1, "operation", "there is no operation to read; expected a history as Jepsen records it, such as {:process 0, :type :invoke, :f :acquire, :value nil}")
	}
	return j, j.sort()
}

// readAll reads the operations of the whole file.
func (j *History) readAll(r *reader) error {
	closing := rune(end)
	if c := r.skip(); c == '[' || c == '(' {
		r.next()
		closing = rune(closings[string(c)][0])
	}
	for {
		c := r.skip()
		if c == closing {
			break
		}
		r.kept = 0
		v, err := r.value(0)
		if err != nil {
			return err
		}
		op, err := newOp(v)
		if err != nil {
			return err
		}
		j.Ops = append(j.Ops, op)
	}
	if closing == end {
		return nil
	}
	r.next()
	if c := r.skip(); c != end {
		return r.wrong("%q stands behind the end of the history", c)
	}
	return nil
}

// sort puts the operations into the order of their indexes. A file may hold them in another
// order, and their times may go back.
func (j *History) sort() error {
	missing := func(op Op) bool { return op.Index < 0 }
	if first := slices.IndexFunc(j.Ops, missing); first >= 0 {
		for i := range j.Ops {
			if !missing(j.Ops[i]) {
				return history.Malform(j.Ops[first].Line, "index", "the operation has no index, and others have one; expected that all have one or none")
			}
			j.Ops[i].Index = i
		}
	}
	slices.SortStableFunc(j.Ops, func(a, b Op) int { return cmp.Compare(a.Index, b.Index) })
	back, last := 0, int64(0)
	for i, op := range j.Ops {
		if i > 0 && op.Index == j.Ops[i-1].Index {
			return history.Malform(op.Line, "index", "index %d stands in line %d as well; expected one for each operation", op.Index, j.Ops[i-1].Line)
		}
		if op.Time != 0 && op.Time < last {
			back++
		}
		last = max(last, op.Time)
	}
	if back > 0 {
		j.Warnings = append(j.Warnings, fmt.Sprintf("the times go back (so often: %d); the operations are taken in the order of their indexes, else of their lines", back))
	}
	return nil
}

// processMax keeps the numbers of processes inside [history.Process], and apart from those that
// lockbench gives to its own.
const processMax = 1<<30 - 1

// newOp reads one operation. Its index is -1 if it has none.
func newOp(v Value) (op Op, err error) {
	if v.Kind != Map {
		return op, history.Malform(v.Line, "operation", "here stands %s; expected an operation, as a map with :process, :type and :f", v.Kind)
	}
	op = Op{Line: v.Line, Index: -1}
	process, ok := v.field("process")
	if !ok {
		return op, history.Malform(v.Line, "process", "the operation has no :process; expected a whole number or :nemesis")
	}
	if word, ok := process.word(); ok && word == "nemesis" {
		op.Nemesis = true
	} else if op.Process, ok = process.whole(); !ok || op.Process < 0 || op.Process > processMax {
		return op, history.Malform(process.Line, "process", "the process is %s; expected a whole number from 0 to %d, or :nemesis", process, processMax)
	}
	if op.Type, err = typeOf(v); err != nil {
		return op, err
	}
	f, _ := v.field("f")
	if op.F, ok = f.word(); !ok || op.F == "" {
		if !op.Nemesis {
			return op, history.Malform(v.Line, "f", "the operation does not say in one word what was done; expected :f :acquire or :f :release, say")
		}
		op.F = f.String()
	}
	if index, _ := v.field("index"); !index.IsNil() {
		n, ok := index.whole()
		if !ok || n < 0 {
			return op, history.Malform(index.Line, "index", "the index is %s; expected a whole number from 0", index)
		}
		op.Index = int(n)
	}
	if at, _ := v.field("time"); !at.IsNil() {
		if op.Time, ok = at.whole(); !ok {
			return op, history.Malform(at.Line, "time", "the time is %s; expected whole nanoseconds", at)
		}
	}
	if op.Nemesis || words[op.F].f != "" { // the others may be large
		op.Value, _ = v.field("value")
	}
	if why, _ := v.field("error", "exception"); why.Kind == Text {
		op.Error = why.Text
	} else if !why.IsNil() {
		op.Error = why.String()
	}
	return op, nil
}

func typeOf(v Value) (history.Type, error) {
	typ, ok := v.field("type")
	if !ok {
		return 0, history.Malform(v.Line, "word", "the operation has no :type; expected :invoke, :ok, :fail or :info")
	}
	if word, ok := typ.word(); ok {
		for t := history.Invoke; t <= history.Info; t++ {
			if t.String() == word {
				return t, nil
			}
		}
	}
	return 0, history.Malform(typ.Line, "word", "the type %s is not known; expected :invoke, :ok, :fail or :info", typ)
}
