package main

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// recording is the result of a run, and its folder.
type recording struct {
	*report.Result
	dir string
}

// judge judges the histories of the run again. A campaign takes hours, and a rule may be repaired after it has begun: all cells are
// judged by the rules of the program that collects them.
func (r recording) judge() error {
	for i := range r.Locks {
		l := &r.Locks[i]
		if l.Error != "" || !takesPart(l) {
			continue
		}
		path := filepath.Join(r.dir, report.FolderName(l.Lock), report.HistoryFile)
		h, err := history.ReadFile(path)
		if err != nil {
			return fmt.Errorf("judge %s in %s again: %w", l.Lock, r.Scenario, err)
		}
		judged, err := report.JudgeHistory(path, h, checker.Options{})
		if err != nil {
			return err
		}
		judged.Lock = l.Lock
		*l = judged
	}
	return nil
}

// takesPart reports whether a lock can take part in the scenario of its run.
func takesPart(l *report.Lock) bool {
	return l.Unsupported == "" && !strings.Contains(l.Why, "no fault of this scenario concerns it")
}

// thisProgram returns the version of this program, which names its commit if it was built in a clone.
func thisProgram() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
