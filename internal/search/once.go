package search

import (
	"context"
	"fmt"
	"os"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/trial"
)

// Once does the trial of an input in a process of its own and judges its history, which lies
// in a file that nobody else writes, and is gone afterwards.
func Once(ctx context.Context, command []string, in trial.Input, history string) (l report.Lock, story []string, err error) {
	defer func() {
		_ = os.Remove(history)
		if p := recover(); p != nil {
			err = fmt.Errorf("judging %s with seed %d panicked: %v", in.Lock.Name, in.Seed, p)
		}
	}()
	if _, err := again(ctx, command, in, history, ""); err != nil {
		return l, nil, err
	}
	return run.Judge(history, checker.Options{})
}
