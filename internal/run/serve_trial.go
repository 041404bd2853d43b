package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/world"
	"lockbench/internal/world/sim"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
)

// ServeTrial is the process's side: it reads the order, runs it, and tells. It
// returns the exit code.
func ServeTrial(ctx context.Context, in io.Reader, out io.Writer) int {
	return serveTrial(ctx, in, out, catalogOpener)
}

func serveTrial(ctx context.Context, in io.Reader, out io.Writer, open func(string, map[string]string) (locks.Opener, error)) int {
	var o order
	d := json.NewDecoder(in)
	if err := d.Decode(&o); err != nil {
		fmt.Fprintf(os.Stderr, "sim-trial reads its job on standard input, and runs for the commands run, explore and replay: %v\n", err)
		return report.ExitHarness
	}
	t := &notes{w: out, answers: make(chan bool)}
	stop := make(chan struct{})
	var beside sync.WaitGroup
	w := sim.New(sim.Options{Open: open, Latency: o.Job.Latency})
	beside.Go(func() { every(100*time.Millisecond, stop, t.sayGrants) })
	beside.Go(func() { watchStill(w, stop, t, o.Job) })
	beside.Go(func() { watchMemory(stop, t, o.Job) })
	go func() {
		for {
			var a answer
			if d.Decode(&a) != nil {
				os.Exit(report.ExitHarness) // the end of our input is the end of the harness
			}
			t.answers <- a.Enough
		}
	}()
	err := runJob(ctx, w, o, t)
	close(stop)
	beside.Wait()
	n := trialNote{Done: true}
	code := 0
	if err == nil && o.Judge {
		n.Summary, err = lookAt(o.History)
	}
	if err != nil {
		n.Error, n.Unsupported, code = err.Error(), errors.Is(err, world.ErrUnsupportedHere), report.ExitHarness
	}
	t.say(n)
	return code
}

// runJob runs a job and writes its history.
func runJob(ctx context.Context, w world.World, o order, t *notes) (err error) {
	s := o.Job.scenario()
	plan, err := nemesis.Draw(o.Job.Seed, s.Episodes, s.Faults)
	if err != nil {
		return err
	}
	sub, err := newSubject(s, o.Job.Lock, nil)
	if err != nil {
		return err
	}
	sub.spec.LogDir = o.Logs
	file, err := os.OpenFile(o.History, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("create the history: %w", err)
	}
	defer func() { err = errors.Join(err, closeFile(file)) }()
	log := func(string) {}
	if o.Logs != "" {
		harness, err := newHarnessLog(filepath.Join(o.Logs, "trial.log"))
		if err != nil {
			return err
		}
		harness.started = virtualEpoch
		defer harness.close()
		log = harness.say
	}
	trial := &trial{
		scenario: s, subject: sub, plan: plan, spared: o.Job.NoFaults, seed: o.Job.Seed, world: w,
		history: file, log: log, observer: t.observer(), script: o.Job.Script,
		enough: func(episode int) bool { return episode == o.Job.EndsAfter || o.Ask && t.ask(episode) },
	}
	return trial.run(ctx)
}

// virtualEpoch is when time begins in a bubble.
var virtualEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// catalogOpener makes the opener of a lock of the catalog.
func catalogOpener(lock string, options map[string]string) (locks.Opener, error) {
	entry, ok := catalog.Find(lock)
	if !ok {
		return nil, catalog.NotFound(lock)
	}
	return entry.New(options)
}

// notes are written to the harness, with the grants between them counted, and some
// answered.
type notes struct {
	mu      sync.Mutex
	w       io.Writer
	grants  atomic.Int64
	asking  atomic.Bool // an answer is waited for, and the simulated clock stands still
	answers chan bool   // made outside of the simulation, or the clock would go on
}

func (t *notes) say(n trialNote) {
	n.Grants = t.grants.Swap(0)
	line, err := json.Marshal(n)
	if err != nil {
		return // texts and numbers: cannot be
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.w.Write(append(line, '\n')) // a harness that does not listen is gone, and so are we
}

func (t *notes) sayGrants() {
	if t.grants.Load() > 0 {
		t.say(trialNote{})
	}
}

// ask asks the harness whether the run ends with this episode.
func (t *notes) ask(episode int) (enough bool) {
	t.asking.Store(true)
	defer t.asking.Store(false)
	t.say(trialNote{Ask: episode})
	return <-t.answers
}

// fail says why the trial cannot go on, and ends the process.
func (t *notes) fail(why string) {
	t.say(trialNote{Done: true, Error: why})
	os.Exit(report.ExitHarness)
}

// every looks again and again, until it is told to stop.
func every(d time.Duration, stop <-chan struct{}, look func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			look()
		}
	}
}

func (t *notes) observer() observer {
	return observer{
		fault:    func(_, text string) { t.say(trialNote{Fault: text}) },
		violated: func(string, string) {}, // the harness judges
		episode:  func(_ string, n int) { t.say(trialNote{Episode: n}) },
		grant:    func() { t.grants.Add(1) },
	}
}

// watchStill ends the process when the simulated clock has stopped: nothing inside
// can tell. It counts looks and not time: a machine that gives this process no turn for
// that long would not let the clock move either, and keeps looks from happening too.
func watchStill(w *sim.World, stop <-chan struct{}, t *notes, j Job) {
	const looks = 60
	moved, still := w.Moved(), 0
	every(stillLimit/looks, stop, func() {
		if now := w.Moved(); now != moved || t.asking.Load() {
			moved, still = now, 0
			return
		}
		if still++; still < looks {
			return
		}
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		fmt.Fprintf(os.Stderr, "%s\n", stacks)
		t.fail(fmt.Sprintf(
			"the simulated clock has stood still for %v in the run of %s with seed %d: a library waits with a mutex held, or computes for ever",
			stillLimit, j.Lock.Name, j.Seed))
	})
}

// watchMemory ends the process when it needs more than GOMEMLIMIT, which is where the
// collector has given its best: a simulation that does not end would take the machine's
// memory within minutes, for it has no need to wait for anything.
func watchMemory(stop <-chan struct{}, t *notes, j Job) {
	limit := debug.SetMemoryLimit(-1) // asks
	if limit == math.MaxInt64 {
		return
	}
	used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	const looks = 5 // in a row: a single one may come before the collector has
	over := 0
	every(200*time.Millisecond, stop, func() {
		metrics.Read(used)
		if used[0].Value.Uint64()-used[1].Value.Uint64() <= uint64(limit) {
			over = 0
			return
		}
		if over++; over < looks {
			return
		}
		t.fail(fmt.Sprintf(
			"the simulated run of %s with seed %d needs more than %d MiB of memory: it does not end, most likely, or it is too long for one run. Ask for fewer episodes or less --duration, or allow it more: GOMEMLIMIT=%dMiB",
			j.Lock.Name, j.Seed, limit>>20, limit>>19))
	})
}
