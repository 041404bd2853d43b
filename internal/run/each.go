package run

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Each calls do for every job in order, at most parallel at a time. It starts no more jobs after do has returned false or
// ctx has ended, and returns when all started jobs are done. So if a job was done, all jobs before it were done too.
func Each[J any](ctx context.Context, jobs iter.Seq[J], parallel int, do func(context.Context, J) (more bool)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, max(parallel, 1))
	stop := make(chan struct{})
	var once sync.Once
	next, end := iter.Pull(jobs)
	defer end()
	for {
		slots <- struct{}{}
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		job, ok := next()
		if !ok {
			return
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if !do(ctx, job) {
				once.Do(func() { close(stop) })
			}
		})
	}
}

// Pace estimates the duration of jobs from finished jobs. The zero value is ready to use.
type Pace struct {
	jobs  int
	total time.Duration
}

// Add records the duration of a finished job.
func (p *Pace) Add(took time.Duration) {
	p.jobs++
	p.total += took
}

// Left estimates the time for a number of jobs, run one after the other. It returns 0 if no job is finished.
func (p *Pace) Left(jobs int) time.Duration {
	return time.Duration(jobs) * p.total / time.Duration(max(p.jobs, 1))
}
