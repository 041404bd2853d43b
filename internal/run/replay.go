package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
)

// Replayed is what came of running a job again.
type Replayed struct {
	Lock      string
	File      string // the history that was there
	Seed      uint64
	Events    int
	Identical bool
	// Line is the first line that differs; Was and Is are its two texts.
	Line    int
	Was, Is string
}

// Replay runs the jobs of a results folder, or the one in or beside a file, once
// more, and compares the histories byte for byte.
func Replay(ctx context.Context, command []string, path string, tell func(Replayed)) (same bool, err error) {
	files, err := jobFiles(path)
	if err != nil {
		return false, err
	}
	temp, err := os.MkdirTemp("", "lockbench-replay-")
	if err != nil {
		return false, fmt.Errorf("make a folder for histories: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	same = true
	for _, file := range files {
		r, err := replay(ctx, command, file, filepath.Join(temp, report.HistoryFile))
		if err != nil {
			return false, err
		}
		same = same && r.Identical
		tell(r)
	}
	return same, nil
}

// jobFiles finds the jobs that a path means.
func jobFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("replay: %w; name the folder of a run in the world sim, such as results/latest, or a %s in it", err, JobFile)
	}
	if !info.IsDir() {
		if filepath.Base(path) == report.HistoryFile {
			path = filepath.Join(filepath.Dir(path), JobFile)
		}
		return []string{path}, nil
	}
	if _, err := os.Stat(filepath.Join(path, JobFile)); err == nil {
		return []string{filepath.Join(path, JobFile)}, nil
	}
	b, err := report.Load(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, h := range b.Histories {
		file := filepath.Join(filepath.Dir(h.Path), JobFile)
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("replay %s: no lock in it has a %s; only runs in the world sim can be replayed", path, JobFile)
	}
	return files, nil
}

// replay runs one job again.
func replay(ctx context.Context, command []string, file, temp string) (Replayed, error) {
	job, err := ReadJob(file)
	if err != nil {
		return Replayed{}, err
	}
	r := Replayed{Lock: job.Lock.Name, File: filepath.Join(filepath.Dir(file), report.HistoryFile), Seed: job.Seed}
	sum, err := historySum(r.File)
	if err != nil {
		return r, err
	}
	if sum != job.History {
		return r, fmt.Errorf("replay %s: the history is not the one that this job gave: its SHA-256 is %.12s..., and %s says %.12s...; it was edited or cut after the run",
			r.File, sum, file, job.History)
	}
	_ = os.Remove(temp)
	if _, err := enclosed(ctx, command, order{Job: job, History: temp}, silent(), nil); err != nil {
		return r, err
	}
	was, err := os.ReadFile(r.File)
	if err != nil {
		return r, fmt.Errorf("read the history: %w", err)
	}
	is, err := os.ReadFile(temp)
	if err != nil {
		return r, fmt.Errorf("read the history: %w", err)
	}
	r.Events = max(0, bytes.Count(is, []byte("\n"))-1)
	if r.Identical = bytes.Equal(was, is); r.Identical {
		return r, nil
	}
	before, after := strings.Split(string(was), "\n"), strings.Split(string(is), "\n")
	for i := range max(len(before), len(after)) {
		a, b := "(nothing more)", "(nothing more)"
		if i < len(before) {
			a = before[i]
		}
		if i < len(after) {
			b = after[i]
		}
		if a != b {
			r.Line, r.Was, r.Is = i+1, a, b
			break
		}
	}
	return r, nil
}

// judgeFor judges a history with its story.
func judgeFor(file string) (report.Lock, []string, error) {
	return Judge(file, checker.Options{})
}
