package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/history/jepsen"
	"lockbench/internal/regular"
	"lockbench/internal/report"
)

func newCheckCommand() *cobra.Command {
	var j judge
	c := &cobra.Command{
		Use:   "check [FILE|DIR|-...]",
		Short: "Re-check recorded histories; starts no server",
		Long: `check reads histories and judges them. The argument is a history file, the results folder
of a run, the folder of one lock in it, or the folder of a test in Jepsen's store. "-" is
standard input, and the default is the newest run, results/latest. Only the history
decides, so check repeats the verdict of a run, and judges histories of other programs.

check recognizes three formats: lockbench's own JSON lines, Jepsen's history.edn, and the
same as JSON (an array, or one operation a line). From Jepsen's histories it takes the
operations of a lock test: acquire and release, or lock and unlock. Their order is that
of :index, or of the lines if there is no :index; :time does not order them.

--model overrides the kind of lock that the history names:
  owner-mutex     one holder at a time, and only the holder may release (the default)
  mutex           the same; a Jepsen history is rejected if a process releases the lock
                  without holding it, unless that release failed
  reentrant, rw, fenced, or several separated by commas: rw,fenced

check keeps the whole history in memory. It judges a history that is still being written
up to its last complete line.

Exit codes: 0 valid, 1 violated, 2 unknown (also if a run ended before the lock began),
3 a file could not be read or is not a history, 64 wrong usage.`,
		Example: "  lockbench check results/latest\n  lockbench check results/latest/set-nx --json\n" +
			"  lockbench check mine.jsonl --release strict\n  zcat store/history.edn.gz | lockbench check - --model rw",
		RunE: func(c *cobra.Command, args []string) error {
			if err := j.parse(); err != nil {
				return err
			}
			args, err := orLatest(c, args, "a history or a results folder, such as results/latest")
			if err != nil {
				return err
			}
			j.in, j.out, j.warn = c.InOrStdin(), c.OutOrStdout(), sayTo(c.ErrOrStderr())
			return j.all(args)
		},
	}
	c.Flags().StringVar(&j.release, "release", string(checker.Ended), "whether a failed release ends the hold: ended (it does) or strict (it does not)")
	c.Flags().StringVar(&j.model, "model", "", "the kind of lock (default: from the history, otherwise owner-mutex)")
	c.Flags().BoolVar(&j.json, "json", false, "print one JSON object on each line")
	return c
}

// judge judges histories.
type judge struct {
	in             io.Reader
	out            io.Writer
	warn           func(line string)
	release, model string // the flags as typed
	json           bool
	options        checker.Options
	models         history.Model // of --model
	// anyReleases is set by --model mutex: any process of a Jepsen history may release the lock.
	anyReleases bool
}

// ownerMutex is the name of [history.Mutex] here, because Jepsen's mutex is different.
const ownerMutex = "owner-mutex"

// models are the values of --model.
var models = []string{ownerMutex, history.Mutex, history.Reentrant, history.RW, history.Fenced}

// parse parses the flags.
func (j *judge) parse() error {
	j.options.Release = checker.Release(j.release)
	readings := []string{string(checker.Ended), string(checker.Strict)}
	if !slices.Contains(readings, j.release) {
		return usagef("--release: %q is not a reading of a failed release; %s", j.release, didYouMean(j.release, readings))
	}
	if j.model == "" {
		return nil
	}
	for word := range strings.SplitSeq(j.model, ",") {
		switch {
		case !slices.Contains(models, word):
			return usagef("--model: %q is not a model; %s", word, didYouMean(word, models))
		case word == history.Mutex && j.model != word:
			return usagef("--model: %s stands alone, and %q has more", word, j.model)
		case word == history.Mutex:
			j.anyReleases = true
		case word == ownerMutex:
			word = history.Mutex
		}
		j.models = append(j.models, word)
	}
	return nil
}

// checked is the output of check --json for one history.
type checked struct {
	Schema   int              `json:"schema"`
	File     string           `json:"file"`
	Lock     string           `json:"lock,omitempty"`
	Verdict  checker.Verdict  `json:"verdict"`
	Class    checker.Class    `json:"class,omitzero"`
	Why      string           `json:"why,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	Checks   []checker.Result `json:"checks"`
}

// garbagePercent limits garbage, in percent of the live memory.
const garbagePercent = 25

// all judges every history that can be read, and reports errors about the others. In its exit code a failure of the
// harness comes before violated and violated before unknown.
func (j *judge) all(args []string) error {
	// A history stays in memory, so allowing as much garbage would double the memory of a large one and save little time.
	defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	worst := checker.Valid
	var failed []error
	for _, arg := range args {
		histories, err := j.histories(arg)
		failed = append(failed, err)
		for _, h := range histories {
			l, warnings, err := j.one(h)
			if err == nil {
				worst = max(worst, l.Verdict)
				err = j.print(h.Path, &l, warnings)
			}
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	switch worst {
	case checker.Violated:
		return exitWith(report.ExitUnexpected)
	case checker.Unknown:
		return exitWith(report.ExitUnknown)
	}
	return nil
}

// print prints the result of one history.
func (j *judge) print(file string, l *report.Lock, warnings []string) error {
	if j.json {
		return json.NewEncoder(j.out).Encode(checked{report.SchemaVersion, file, l.Lock, l.Verdict, l.Class, l.Why, warnings, l.Checks})
	}
	for _, warning := range warnings {
		j.warn(fmt.Sprintf("lockbench: %s: %s", file, warning))
	}
	return report.Checked(j.out, file, l)
}

// one judges one file, which another program may have written.
func (j *judge) one(of lockHistory) (l report.Lock, warnings []string, err error) {
	if of.unbegun {
		const why = "the run ended before this lock began"
		return report.Lock{Lock: of.Lock, Verdict: checker.Unknown, Why: why, Checks: []checker.Result{}}, []string{why}, nil
	}
	file := of.Path
	opened, err := jepsen.Open(file, j.in, j.models)
	if err != nil {
		return l, nil, err
	}
	if opened.Own != nil {
		l, err = report.JudgeHistory(file, opened.Own, j.options)
		return l, opened.Own.Warnings, err
	}
	h, strays, err := opened.Jepsen.Lock(j.models, j.anyReleases)
	if err != nil {
		return l, nil, fmt.Errorf("check %s: %w", file, err)
	}
	opened.Jepsen = nil // as large as the history and no longer needed
	l, err = report.JudgeHistory(file, h, j.options)
	if len(strays) > 0 && err == nil {
		all := checker.Strays(checker.Report{Checks: l.Checks}, strays)
		if f, found := all.First(); found && l.Counterexample == nil {
			l.Counterexample = &report.Counterexample{Title: f.Text} // there are no sessions to show
		}
		l.Verdict, l.Class, l.Checks = all.Verdict, all.Class, all.Checks
	}
	return l, h.Warnings, err
}

// jepsenFile is the name of a test's history in Jepsen's store.
const jepsenFile = "history.edn"

// lockHistory is the history of a lock. unbegun reports that its run ended before the lock began.
type lockHistory struct {
	report.LockHistory
	unbegun bool
}

// histories returns the histories of a file or a folder: of a lock, of a test in Jepsen's store, or of a run. It warns
// about the locks that a run could not try.
func (j *judge) histories(arg string) (all []lockHistory, err error) {
	file := func(path string) []lockHistory { return []lockHistory{{report.LockHistory{Path: path}, false}} }
	if arg == "-" {
		return file(arg), nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w; name a %s, or the folder of a run such as results/latest", err, report.HistoryFile)
	}
	if !info.IsDir() {
		return file(arg), nil
	}
	for _, name := range []string{report.HistoryFile, jepsenFile} {
		if path := filepath.Join(arg, name); regular.Is(path) {
			return file(path), nil
		}
	}
	b, err := report.Load(arg)
	if err != nil {
		return nil, err
	}
	gone := b.Gone()
	if len(b.Histories) == 0 && gone == nil {
		return nil, fmt.Errorf("%s holds no history; a results folder has LOCK/%s in it", arg, report.HistoryFile)
	}
	for _, h := range b.Histories {
		if b.Result != nil {
			if l := b.Result.Find(h.Lock); l != nil && l.Unsupported != "" { // its history is empty
				j.warn(fmt.Sprintf("lockbench: %s: %s was not tried: %s", arg, h.Lock, l.Unsupported))
				continue
			}
		}
		all = append(all, lockHistory{h, (b.Result == nil || b.Result.Interrupted) && !h.Begun()})
	}
	return all, gone
}
