// Package jepsen reads the histories of other programs: those that Jepsen records, as EDN or
// as JSON, and what has the same form. [Open] takes a file in any format, lockbench's own
// included, by looking; [History.Lock] makes sessions of operations on a lock.
//
// The EDN reader is its own: the one for Go (olympos.io/encoding/edn, unchanged since 2020)
// takes three times as long for a byte, and knows no lines.
package jepsen

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"lockbench/internal/history"
)

// Op is one line of a history that Jepsen recorded: an invocation or a
// completion, of a client or of the nemesis.
type Op struct {
	Line    int
	Index   int   // as recorded, or the line's order
	Time    int64 // ns; as recorded, whatever that is worth, or 0
	Process int64
	Nemesis bool
	Type    history.Type
	F       string
	Error   string
	value   *Value // nil for nil, which most are
}

// Value is what the operation was done with, or what came of it.
func (op *Op) Value() Value {
	if op.value == nil {
		return Value{Line: op.Line}
	}
	return *op.value
}

// History is a history that Jepsen recorded, in order.
type History struct {
	Ops      []Op
	Torn     bool
	Warnings []string
}

// ReadEDN reads Jepsen's history.edn: operations one after the other, or in one vector.
// Tags, records and symbols that nobody here knows are read as names.
func ReadEDN(r io.Reader) (*History, error) {
	return read(newForms(bufio.NewReaderSize(r, 64<<10), false))
}

// ReadJSON reads the same as JSON: one object a line, or all in one array.
func ReadJSON(r io.Reader) (*History, error) {
	return read(newForms(bufio.NewReaderSize(r, 64<<10), true))
}

func read(f *forms) (*History, error) {
	j := &History{}
	counted := given{}
	err := f.operations(func(v Value) error {
		op, err := counted.op(v)
		if err != nil {
			return err
		}
		if op.Index < 0 {
			op.Index = len(j.Ops)
		}
		j.Ops = append(j.Ops, op)
		return nil
	})
	switch {
	case errors.Is(err, errCutShort):
		j.Torn = true
		j.Warnings = append(j.Warnings, fmt.Sprintf("line %d is cut off and was left out; whatever wrote this history was stopped in the middle of it", f.line))
	case err != nil:
		return nil, err
	}
	if len(j.Ops) == 0 {
		return nil, history.Malform(1, "operation", "there is no operation to read; expected a history as Jepsen records it, such as {:process 0, :type :invoke, :f :acquire, :value nil}")
	}
	if counted.indexes > 0 && counted.indexes < len(j.Ops) {
		return nil, history.Malform(counted.without, "index", "the operation has no index, and others have one; expected that all have one or none")
	}
	return j, j.sort()
}

// sort puts the operations into the order of their indexes. What was recorded may not
// stand in that order, and its times may go back: the index says what came first.
func (j *History) sort() error {
	slices.SortStableFunc(j.Ops, func(a, b Op) int { return cmp.Compare(a.Index, b.Index) })
	back, last := 0, int64(0)
	for i, op := range j.Ops {
		if i > 0 && op.Index == j.Ops[i-1].Index {
			return history.Malform(op.Line, "index", "index %d stands in line %d as well; expected one for each operation", op.Index, j.Ops[i-1].Line)
		}
		if op.Time != 0 && op.Time < last { // 0: there is none
			back++
		}
		last = max(last, op.Time)
	}
	if back > 0 {
		j.Warnings = append(j.Warnings, fmt.Sprintf("the times go back (so often: %d); the operations are taken in the order of their indexes, else of their lines", back))
	}
	return nil
}

// operations calls each with every operation of the file.
func (f *forms) operations(each func(Value) error) error {
	within := false // the one vector that holds all
	for first := true; ; first = false {
		f.kept, f.open = 0, f.open[:0]
		c, err := f.skip()
		if errors.Is(err, io.EOF) {
			if within {
				return errCutShort
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case c == 0xef && first: // a byte order mark, as some editors begin a file
			for range 2 {
				if _, err := f.next(); err != nil {
					return cutShort(err)
				}
			}
			continue
		case within && (c == ']' || c == ')'):
			return f.nothing()
		case within && f.json && c == ',':
			continue
		case !within && (c == '[' || c == '(' && !f.json):
			within = true
			continue
		case c == '#' && !f.json:
			discarded, err := f.discard(0)
			if err != nil {
				return err
			}
			if discarded {
				continue
			}
		}
		v, err := f.value(c, 0)
		if err != nil {
			return err
		}
		if err := each(v); err != nil {
			return err
		}
	}
}

// nothing fails unless the file ends here.
func (f *forms) nothing() error {
	c, err := f.skip()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.wrong("%q stands behind the end of the history", c)
}

// given counts what may be absent, though not of some operations alone.
type given struct {
	indexes int
	without int // the line of one that has none
}

func (g *given) op(v Value) (op Op, err error) {
	if v.bare().Kind != Map {
		return op, history.Malform(v.Line, "operation", "here stands %s; expected an operation, as a map with :process, :type and :f", v.Kind)
	}
	op = Op{Line: v.Line, Index: -1}
	process, ok := v.field("process")
	if !ok {
		return op, history.Malform(v.Line, "process", "the operation has no :process; expected a whole number or :nemesis")
	}
	process = process.bare()
	word, isWord := process.word()
	switch {
	case process.Kind == Int && process.Int >= 0 && process.Int <= processMax:
		op.Process = process.Int
	case isWord && word == "nemesis":
		op.Nemesis = true
	default:
		return op, history.Malform(process.Line, "process", "the process is %s; expected a whole number from 0 to %d, or :nemesis", process, processMax)
	}
	if op.Type, err = typeOf(v); err != nil {
		return op, err
	}
	f, ok := v.field("f")
	if op.F, isWord = f.bare().word(); !ok || !isWord || op.F == "" {
		if !op.Nemesis {
			return op, history.Malform(v.Line, "f", "the operation does not say in one word what was done; expected :f :acquire or :f :release, say")
		}
		op.F = f.String()
	}
	if err := g.numbers(v, &op); err != nil {
		return op, err
	}
	if value, ok := v.field("value"); ok && value.Kind != Nil {
		op.value = &value
	}
	if why, ok := v.field("error", "exception"); ok && why.Kind != Nil {
		op.Error = why.String()
		if why.Kind == String {
			op.Error = why.Text
		}
	}
	return op, nil
}

// processMax keeps the numbers of processes inside [history.Process], and apart from those that
// lockbench gives to its own.
const processMax = 1<<30 - 1

func typeOf(v Value) (history.Type, error) {
	typ, ok := v.field("type")
	word, isWord := typ.bare().word()
	if ok && isWord {
		for t := history.Invoke; t <= history.Info; t++ {
			if t.String() == word {
				return t, nil
			}
		}
	}
	if !ok {
		return 0, history.Malform(v.Line, "word", "the operation has no :type; expected :invoke, :ok, :fail or :info")
	}
	return 0, history.Malform(typ.Line, "word", "the type %s is not known; expected :invoke, :ok, :fail or :info", typ)
}

func (g *given) numbers(v Value, op *Op) error {
	if index, ok := v.field("index"); ok && index.bare().Kind != Nil {
		n := index.bare()
		if n.Kind != Int || n.Int < 0 {
			return history.Malform(index.Line, "index", "the index is %s; expected a whole number from 0", index)
		}
		op.Index = int(n.Int)
		g.indexes++
	} else {
		g.without = v.Line
	}
	if at, ok := v.field("time"); ok && at.bare().Kind != Nil {
		n := at.bare()
		if n.Kind != Int {
			return history.Malform(at.Line, "time", "the time is %s; expected whole nanoseconds", at)
		}
		op.Time = n.Int
	}
	return nil
}
