package report

import (
	"fmt"

	"lockbench/checker"
	"lockbench/internal/history"
)

// JudgeHistory judges a history and returns the entry of a result. It uses path only in errors.
func JudgeHistory(path string, h *history.History, o checker.Options) (Lock, error) {
	judged, err := Judge(path, h, o)
	return NewLock(h, judged), err
}

// Judge judges a history. It returns an error as well if the history contradicts itself.
func Judge(path string, h *history.History, o checker.Options) (checker.Report, error) {
	judged := checker.Judge(h, o)
	if broken := judged.Broken(); broken != "" {
		return judged, fmt.Errorf("%s contradicts itself, so the harness is at fault: %s", path, broken)
	}
	return judged, nil
}
