package index

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/internal/report"
)

// entry is the data of a run.
type entry struct {
	result
	Scenario string    `json:"scenario,omitempty"`
	World    string    `json:"world,omitempty"`
	Seed     uint64    `json:"seed,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Exit     int       `json:"exit"`
	Stopped  bool      `json:"stopped,omitempty"`
	Locks    []lock    `json:"locks,omitempty"`
	Trouble  string    `json:"trouble,omitempty"` // why it could not be read
}

// lock is one lock of a run.
type lock struct {
	Name  string `json:"name"`
	Found string `json:"found"` // violated double-grant
	Look  string `json:"look"`
	Odd   bool   `json:"odd,omitempty"`  // not as expected
	Calm  bool   `json:"calm,omitempty"` // a control that is as expected
	// The number of episodes that count, and of those with a violation.
	Episodes int `json:"n,omitempty"`
	Broke    int `json:"k,omitempty"`
}

// read reads new and changed results. The newest run is first.
func read(root fs.FS, found []result, kept []entry) []entry {
	byDir := map[string]entry{}
	for _, e := range kept {
		byDir[e.Dir] = e
	}
	all := make([]entry, len(found))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i, r := range found {
		if e, ok := byDir[r.Dir]; ok && e.result == r {
			all[i] = e
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			all[i] = readEntry(root, r)
		})
	}
	wg.Wait()
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.Dir, b.Dir))
	})
	return all
}

func readEntry(root fs.FS, r result) entry {
	e := entry{result: r, Exit: report.ExitHarness}
	text, err := fs.ReadFile(root, path.Join(r.Dir, report.ResultFile))
	if err != nil {
		e.Trouble = err.Error()
		return e
	}
	ran, err := report.ReadResult(text)
	if err != nil {
		e.Trouble = fmt.Sprintf("its %s cannot be read: %v", report.ResultFile, err)
		return e
	}
	e.take(ran)
	return e
}

// take sets the data of a result.
func (e *entry) take(r *report.Result) {
	e.Scenario, e.World, e.Seed, e.Started, e.Stopped, e.Exit = r.Scenario, r.World, r.Seed, r.Started, r.Interrupted, r.ExitCode()
	for l := range r.All() {
		found := l.Word()
		if found == l.Verdict.String() {
			found = l.Found()
		}
		broke, episodes := l.Counted()
		e.Locks = append(e.Locks, lock{Name: report.OneLine(l.Lock), Found: found, Look: l.Look(), Episodes: episodes, Broke: broke,
			Odd: l.Odd(), Calm: l.Calm()})
	}
}
