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

// Pace estimates the duration of jobs from finished jobs of the same kind. The zero value is ready to use.
type Pace struct {
	kinds map[string]taken
}

type taken struct {
	jobs  int
	total time.Duration
}

// Add records the duration of a finished job.
func (p *Pace) Add(kind string, took time.Duration) {
	if p.kinds == nil {
		p.kinds = map[string]taken{}
	}
	k := p.kinds[kind]
	p.kinds[kind] = taken{k.jobs + 1, k.total + took}
}

// Left estimates the time for the given number of jobs of each kind, run one after the other. A kind without a finished
// job takes the average of the other kinds. Left returns 0 if no job is finished.
func (p *Pace) Left(jobs map[string]int) time.Duration {
	var average, left time.Duration
	for _, k := range p.kinds {
		average += k.total / time.Duration(k.jobs*len(p.kinds))
	}
	for kind, n := range jobs {
		each := average
		if k, known := p.kinds[kind]; known {
			each = k.total / time.Duration(k.jobs)
		}
		left += time.Duration(n) * each
	}
	return left
}
