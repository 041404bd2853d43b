package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockbench/internal/claim"
	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/shellword"
	"lockbench/internal/trial"
)

// Replayed is the result of a replay.
type Replayed struct {
	Lock      string
	File      string // the original history
	Seed      uint64
	Events    int
	Identical bool
	// Line is the first line that differs; Was and Is are its two texts.
	Line    int
	Was, Is string
	// Interrupted means that the run was interrupted. Its end differs, because replay does not stop there.
	Interrupted bool
}

// Replay repeats the trials of a results folder, or the one trial whose input is the file
// at path or next to it, and compares the histories byte for byte. If histories of the folder are
// gone, it repeats the other trials and then returns an error.
func Replay(ctx context.Context, command []string, path string, tell func(Replayed)) (same bool, err error) {
	files, gone, err := inputFiles(path)
	if err != nil {
		return false, err
	}
	temp, err := claim.NewDir("replay")
	if err != nil {
		return false, err
	}
	defer func() { _ = temp.Remove() }()
	same = true
	for _, file := range files {
		r, err := replay(ctx, command, file, filepath.Join(temp.Path, report.HistoryFile))
		if err != nil {
			return false, err
		}
		same = same && r.Identical
		tell(r)
	}
	return same, gone
}

// inputFiles finds the inputs of a path. gone names what the folder of a run has lost.
func inputFiles(path string) (files []string, gone, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("replay: %w; name the folder of a run in the world sim, such as results/latest, or a %s in it", err, trial.InputFile)
	}
	if !info.IsDir() {
		if filepath.Base(path) == report.HistoryFile {
			path = filepath.Join(filepath.Dir(path), trial.InputFile)
		}
		return []string{path}, nil, nil
	}
	if _, err := os.Stat(filepath.Join(path, trial.InputFile)); err == nil {
		return []string{filepath.Join(path, trial.InputFile)}, nil, nil
	}
	b, err := report.Load(path)
	if err != nil {
		return nil, nil, err
	}
	gone = b.Gone()
	for _, h := range b.Histories {
		file := filepath.Join(filepath.Dir(h.Path), trial.InputFile)
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	if len(files) == 0 && (gone == nil || b.Result.World != "sim") {
		return nil, nil, notSimulated(path, b.Result)
	}
	return files, gone, nil
}

// notSimulated is the error for a run without inputs, with advice.
func notSimulated(path string, r *report.Result) error {
	if r == nil || r.World == "" || r.World == "sim" {
		return fmt.Errorf("replay %s: no lock in it has a %s; only runs in the world sim can be replayed: lockbench run SCENARIO --world sim", path, trial.InputFile)
	}
	next := ""
	if r.Again != "" {
		next = "; to inject the same faults again: " + r.Again
	}
	if r.Scenario != "" {
		next += "; for a run that can be replayed: lockbench run " + shellword.Quote(r.Scenario) + " --world sim"
	}
	return fmt.Errorf("replay %s: it was run in world %s, and only simulated runs (world sim) can be replayed, because real time never repeats itself%s", path, r.World, next)
}

// replay repeats one trial.
func replay(ctx context.Context, command []string, file, temp string) (Replayed, error) {
	in, err := trial.ReadInput(file)
	if err != nil {
		return Replayed{}, err
	}
	r := Replayed{Lock: in.Lock.Name, File: filepath.Join(filepath.Dir(file), report.HistoryFile), Seed: in.Seed}
	was, err := regular.ReadFile(r.File)
	if err != nil {
		return r, fmt.Errorf("read the history: %w", err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(was)); sum != in.History {
		return r, fmt.Errorf("replay %s: the history differs from the one of this input: its SHA-256 is %.12s..., and %s has %.12s...; it was edited or cut after the run",
			r.File, sum, file, in.History)
	}
	_ = os.Remove(temp)
	if _, err := again(ctx, command, in, temp); err != nil {
		return r, err
	}
	is, err := regular.ReadFile(temp)
	if err != nil {
		return r, fmt.Errorf("read the history: %w", err)
	}
	r.Events = max(0, bytes.Count(is, []byte("\n"))-1)
	if r.Identical = bytes.Equal(was, is); r.Identical {
		return r, nil
	}
	if b, err := report.Load(filepath.Dir(filepath.Dir(r.File))); err == nil && b.Result != nil {
		r.Interrupted = b.Result.Interrupted
	}
	before, after := strings.Split(string(was), "\n"), strings.Split(string(is), "\n")
	line := func(of []string, i int) string {
		if i < len(of) {
			return of[i]
		}
		return "(nothing more)"
	}
	for r.Was == r.Is {
		r.Was, r.Is = line(before, r.Line), line(after, r.Line)
		r.Line++
	}
	return r, nil
}
