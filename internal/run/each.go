package run

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Each calls do for every job, for at most parallel of them at a time, in their order. After do has returned
// false, or ctx has ended, it starts no more; it returns when those that it has started are over. So of the jobs
// that were done, each has all jobs before it done as well.
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

// Pace estimates how long jobs take from those of their kind that are over. The zero value knows none.
type Pace struct {
	kinds map[string]taken
}

type taken struct {
	jobs  int
	total time.Duration
}

// Add notes how long a job took.
func (p *Pace) Add(kind string, took time.Duration) {
	if p.kinds == nil {
		p.kinds = map[string]taken{}
	}
	k := p.kinds[kind]
	p.kinds[kind] = taken{k.jobs + 1, k.total + took}
}

// Left estimates how long so many jobs of each kind take, one after the other. A kind of which no job is over
// takes as long as the average kind. It is 0 if no job is over.
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
