package search

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/shard"
)

// JournalFile is the file with what each set of a search shows, in the order in which the sets ended. A search that was
// interrupted or killed continues with it, and merge adds up the journals of shards.
const JournalFile = "sets.jsonl"

// journal is the sets that a search has tried.
type journal struct {
	header setsHeader
	ran    map[place][]setRan
	file   *os.File // nil: it is only read
	err    error    // the first error of a write
}

// place is the place of a branch in the search.
type place struct{ size, n int }

// journalLine is a line of the file after the header.
type journalLine struct {
	Size int      `json:"k"`
	N    int      `json:"n"`
	Sets []setRan `json:"s"`
}

// openJournal creates the journal of a search, or continues it.
func openJournal(path string, h setsHeader, resume bool) (*journal, error) {
	j := &journal{header: h, ran: map[place][]setRan{}}
	if path == "" {
		return j, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create the journal of the search: %w", err)
	}
	whole := int64(0) // the length of the lines that were written to their end
	if resume {
		old, n, err := readJournal(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case !old.header.same(h) || old.header.Shard != h.Shard:
			return nil, fmt.Errorf("%s belongs to another search, or to another version of lockbench; leave out --resume to begin again", path)
		default:
			j.ran, whole = old.ran, n
		}
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("open the journal of the search: %w", err)
	}
	if j.file = file; whole == 0 {
		j.line(h)
	}
	return j, j.err
}

// same reports whether two searches, or two shards of one, have the same sets.
func (h setsHeader) same(o setsHeader) bool {
	text := func(h setsHeader) string {
		h.Shard, h.Again = 0, ""
		text, _ := json.Marshal(h) // strings and numbers
		return string(text)
	}
	return text(h) == text(o)
}

// readJournal reads a journal, and returns the length of its whole lines: a killed search leaves a part of a line.
func readJournal(path string) (j *journal, whole int64, err error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read the journal of a search: %w", err)
	}
	defer file.Close()
	j = &journal{ran: map[place][]setRan{}}
	for r, n := bufio.NewReader(file), 1; ; n++ {
		text, err := r.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && n > 1:
			return j, whole, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, 0, fmt.Errorf("read the journal of a search: %w", err)
		}
		var l journalLine
		if n == 1 {
			err = json.Unmarshal(text, &j.header)
		} else if err = json.Unmarshal(text, &l); err == nil {
			j.ran[place{l.Size, l.N}] = l.Sets
		}
		if err == nil && n == 1 && j.header.Sets != 1 {
			err = fmt.Errorf("it has schema %d, and this lockbench reads schema 1", j.header.Sets)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read %s, line %d: it is not what explore --faults writes: %w", path, n, err)
		}
		whole += int64(len(text))
	}
}

// have returns the sets of a branch that has run.
func (j *journal) have(size, n int) (sets []setRan, ok bool) {
	sets, ok = j.ran[place{size, n}]
	return sets, ok
}

// write adds the sets of a branch.
func (j *journal) write(size, n int, sets []setRan) { j.line(journalLine{size, n, sets}) }

func (j *journal) line(of any) {
	if j.file == nil || j.err != nil {
		return
	}
	text, err := json.Marshal(of)
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	if err != nil {
		j.err = fmt.Errorf("write the journal of the search: %w", err)
	}
}

func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close() // every line was written
	}
}

// ReadSets reads the journal in the folder of a search through sets.
func ReadSets(dir string) (*SetsPart, error) {
	path := dir
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		path = filepath.Join(dir, JournalFile)
	}
	j, _, err := readJournal(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the folder of a shard: a shard of matrix leaves a %s, and one of explore --faults a %s", dir, report.CampaignFile, JournalFile)
	}
	if err != nil {
		return nil, err
	}
	return &SetsPart{j, dir}, nil
}

// SetsPart is what a shard of a search through sets has tried.
type SetsPart struct {
	journal *journal
	dir     string
}

// MergeSets adds up the shards of one search. The result is that of a search without shards. It returns the numbers of the
// missing shards.
func MergeSets(parts []*SetsPart) (sum *SetsFound, missing []int, err error) {
	first := parts[0].journal.header
	have := shard.Gather{}
	for _, p := range parts {
		h := p.journal.header
		if !h.same(first) {
			return nil, nil, fmt.Errorf("%s and %s are parts of different searches", parts[0].dir, p.dir)
		}
		if err := have.Add(shard.Shard{I: h.Shard, N: h.Shards}); err != nil {
			return nil, nil, err
		}
	}
	shards := first.Shards
	first.Shard, first.Shards, first.Again = 0, 0, ""
	sum = first.found()
	level := []tried{{}}
	for size := range first.Size + 1 {
		t := first.tally(sum, size, level)
		for b := range first.branches(level, size) {
			for _, p := range parts {
				if sets, ok := p.journal.have(size, b.n); ok {
					t.add(b, sets)
					break
				}
			}
		}
		t.end()
		level = t.next
		if l := sum.Levels[size]; !l.Complete {
			sum.Interrupted = true
		}
		if l := sum.Levels[size]; size == 0 && l.Violated+l.Unknown+l.NotRun > 0 {
			break
		}
	}
	return sum, have.Missing(shards), nil
}

// Resumed returns the command that continues a search.
func Resumed(again string) string { return strings.ReplaceAll(again, " --resume", "") + " --resume" }

// Incomplete returns the command that completes the part, or "" if it is complete.
func (p *SetsPart) Incomplete() string {
	h := p.journal.header
	found, level := h.found(), []tried{{}}
	for size := range h.Size + 1 {
		t := h.tally(found, size, level)
		for b := range h.branches(level, size) {
			if sets, ok := p.journal.have(size, b.n); ok && h.has(size, b.n) {
				t.add(b, sets)
			}
		}
		t.end()
		level = t.next
	}
	if found.Whole() {
		return ""
	}
	name := p.dir
	if h.Shards > 0 {
		name = fmt.Sprintf("shard %d of %d, in %s", h.Shard, h.Shards, p.dir)
	}
	return fmt.Sprintf("%s; to complete it: %s", name, Resumed(h.Again))
}
