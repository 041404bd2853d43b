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
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/history/jepsen"
	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/run"
)

func newCheckCommand() *cobra.Command {
	var f checkFlags
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
  reentrant, rw, fenced, semaphore=N, or several separated by commas: rw,fenced

check keeps the whole history in memory. It judges a history that is still being written
up to its last complete line.

Exit codes: 0 valid, 1 violated, 2 unknown (also if a run ended before the lock began),
3 a file could not be read or is not a history, 64 wrong usage.`,
		Example: "  lockbench check results/latest\n  lockbench check results/latest/set-nx --json\n" +
			"  lockbench check mine.jsonl --release strict\n  zcat store/history.edn.gz | lockbench check - --model semaphore=2",
		Args: func(_ *cobra.Command, args []string) error {
			first := slices.Index(args, "-")
			if first >= 0 && slices.Contains(args[first+1:], "-") {
				return usagef("check: standard input (-) can be read once")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			judge, err := f.parse(c.InOrStdin())
			if err != nil {
				return err
			}
			if args, err = orLatest(c, args, "a history or a results folder, such as results/latest"); err != nil {
				return err
			}
			return judge.all(c.OutOrStdout(), sayTo(c.ErrOrStderr()), args)
		},
	}
	c.Flags().StringVar(&f.release, "release", string(checker.Ended), "whether a failed release ends the hold: ended (it does) or strict (it does not)")
	c.Flags().StringVar(&f.model, "model", "", "the kind of lock (default: from the history, otherwise owner-mutex)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object on each line")
	return c
}

// checkFlags are the flags as typed.
type checkFlags struct {
	release, model string
	json           bool
}

// judge is the meaning of the flags.
type judge struct {
	in      io.Reader
	options checker.Options
	open    jepsen.OpenOptions
	// anyReleases is set by --model mutex: any process of a Jepsen history may release the lock.
	anyReleases bool
	json        bool
}

// ownerMutex is the name of [history.Mutex] here, because Jepsen's mutex is different.
const ownerMutex = "owner-mutex"

// models are the values of --model.
var models = []string{ownerMutex, history.Mutex, history.Reentrant, history.RW, history.Fenced, history.Semaphore}

func (f checkFlags) parse(in io.Reader) (judge, error) {
	j := judge{in: in, json: f.json, options: checker.Options{Release: checker.Release(f.release)}}
	readings := []string{string(checker.Ended), string(checker.Strict)}
	if !slices.Contains(readings, f.release) {
		return j, usagef("--release: %q is not a reading of a failed release; %s", f.release, didYouMean(f.release, readings))
	}
	if f.model == "" {
		return j, nil
	}
	for _, word := range strings.Split(f.model, ",") {
		name, number, numbered := strings.Cut(word, "=")
		if !slices.Contains(models, name) {
			return j, usagef("--model: %q is not a model; %s", name, didYouMean(name, models))
		}
		if name == history.Semaphore {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				return j, usagef("--model: %q does not say how many permits there are; try semaphore=2", word)
			}
			j.open.Permits = n
		} else if numbered {
			return j, usagef("--model: %q has a number, and only a semaphore has one; try %s", word, name)
		}
		switch name {
		case history.Mutex:
			if f.model != name {
				return j, usagef("--model: %s stands alone, and %q has more", name, f.model)
			}
			j.anyReleases = true
		case ownerMutex:
			name = history.Mutex
		}
		j.open.Model = append(j.open.Model, name)
	}
	return j, nil
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
func (j judge) all(w io.Writer, warn func(line string), args []string) error {
	// A history stays in memory, so allowing as much garbage would double the memory of a large one and save little time.
	defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	files, untried, unbegun, failed := histories(args)
	for _, text := range untried {
		warn("lockbench: " + text)
	}
	worst := checker.Valid
	for _, h := range unbegun {
		worst = checker.Unknown
		const why = "the run ended before this lock began"
		if j.json {
			line := checked{Schema: report.SchemaVersion, File: h.Path, Lock: h.Lock, Verdict: checker.Unknown, Why: why, Checks: []checker.Result{}}
			if err := json.NewEncoder(w).Encode(line); err != nil {
				return err
			}
			continue
		}
		warn(fmt.Sprintf("lockbench: %s: %s is unknown: %s", h.Path, h.Lock, why))
	}
	for _, file := range files {
		l, warnings, err := j.one(file)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		worst = max(worst, l.Verdict)
		if j.json {
			line := checked{report.SchemaVersion, file, l.Lock, l.Verdict, l.Class, l.Why, warnings, l.Checks}
			if err := json.NewEncoder(w).Encode(line); err != nil {
				return err
			}
			continue
		}
		for _, warning := range warnings {
			warn(fmt.Sprintf("lockbench: %s: %s", file, warning))
		}
		if err := report.Checked(w, file, &l); err != nil {
			return err
		}
	}
	return exit(worst, failed)
}

// exit returns the exit code of check.
func exit(worst checker.Verdict, failed []error) error {
	switch {
	case len(failed) > 0:
		return errors.Join(failed...)
	case worst == checker.Violated:
		return exitWith(report.ExitUnexpected)
	case worst == checker.Unknown:
		return exitWith(report.ExitUnknown)
	}
	return nil
}

// one judges one file, which another program may have written.
func (j judge) one(file string) (l report.Lock, warnings []string, err error) {
	opened, err := jepsen.Open(file, j.in, j.open)
	if err != nil {
		return l, nil, err
	}
	if opened.Own != nil {
		l, err = run.JudgeHistory(file, opened.Own, j.options)
		return l, opened.Own.Warnings, err
	}
	h, strays, err := opened.Jepsen.Lock(j.open.Model, j.open.Permits, j.anyReleases)
	if err != nil {
		return l, nil, fmt.Errorf("check %s: %w", file, err)
	}
	opened.Jepsen = nil // as large as the history and no longer needed
	l, err = run.JudgeHistory(file, h, j.options)
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

// histories expands directories to their histories. untried are the locks that their runs could not try, unbegun are those
// of an unfinished run that had not begun, and failed are the arguments that are neither files nor folders of runs.
func histories(args []string) (files, untried []string, unbegun []report.LockHistory, failed []error) {
	for _, arg := range args {
		if arg == "-" {
			files = append(files, arg)
			continue
		}
		info, err := os.Stat(arg)
		if err != nil {
			failed = append(failed, noHistory(err))
			continue
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		if one := theHistory(arg); one != "" {
			files = append(files, one)
			continue
		}
		b, err := report.Load(arg)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if len(b.Histories) == 0 {
			failed = append(failed, fmt.Errorf("%s holds no history; a results folder has LOCK/%s in it", arg, report.HistoryFile))
		}
		for _, h := range b.Histories {
			if why := unsupported(b, h.Lock); why != "" {
				untried = append(untried, fmt.Sprintf("%s: %s was not tried: %s", arg, h.Lock, why))
				continue
			}
			if b.Result == nil && !h.Begun() {
				unbegun = append(unbegun, h)
				continue
			}
			files = append(files, h.Path)
		}
	}
	return files, untried, unbegun, failed
}

// noHistory is the error for a path without a history.
func noHistory(err error) error {
	return fmt.Errorf("read the history: %w; name a %s, or the folder of a run such as results/latest", err, report.HistoryFile)
}

// unsupported returns the reason why a run did not try a lock. The lock's history is then empty.
func unsupported(b *report.Bundle, lock string) string {
	if b.Result == nil {
		return ""
	}
	l := b.Result.Find(lock)
	if l == nil {
		return ""
	}
	return l.Unsupported
}

// theHistory returns the only history of a folder: of one lock in a run's results, or of a test in Jepsen's store.
func theHistory(dir string) string {
	for _, name := range []string{report.HistoryFile, jepsenFile} {
		if path := filepath.Join(dir, name); regular.Is(path) {
			return path
		}
	}
	return ""
}
