package child

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/trial"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/world"
	"lockbench/locks"
)

// Serve is the side of the child of a [Process]: it reads its instructions and runs the trial. open returns the opener of a lock by name and options. Serve returns
// the exit code.
func Serve(ctx context.Context, in io.Reader, out io.Writer, open func(string, map[string]string) (locks.Opener, error)) int {
	var given Instructions
	d := json.NewDecoder(in)
	if err := d.Decode(&given); err != nil {
		fmt.Fprintf(os.Stderr, "sim-trial reads its input on standard input, and runs for the commands run, explore and replay: %v\n", err)
		return exitHarness
	}
	p := &parent{w: out, answers: make(chan bool), asks: given.Ask, endsAfter: given.Input.EndsAfter}
	stop := make(chan struct{})
	var background sync.WaitGroup
	w := simulation(sim.Options{Open: open, Latency: given.Input.Latency})
	background.Go(func() { every(beatEvery, stop, func() { p.say(message{}) }) })
	fail := func(err error) int {
		failed := message{Done: true, Error: err.Error()}
		if not := (world.Unsupported{}); errors.As(err, &not) {
			failed.Unsupported = not.Why.Error()
		}
		p.say(failed)
		return exitHarness
	}
	// Compiling a WASM guest stops virtual time, so it happens before the watchers start.
	if file := given.Input.Lock.Module; file != "" {
		if err := w.Prepare(ctx, file); err != nil {
			return fail(err)
		}
	}
	background.Go(func() { watchStuck(w, stop, p, given.Input) })
	background.Go(func() { watchMemory(stop, p, given.Input) })
	go func() {
		for {
			var a answer
			if d.Decode(&a) != nil {
				os.Exit(exitHarness) // the parent is gone
			}
			p.answers <- a.Enough
		}
	}()
	sum, err := given.do(ctx, w, p.enough, &p.written)
	close(stop)
	background.Wait()
	if err != nil {
		return fail(err)
	}
	p.say(message{Done: true, Sum: sum})
	return 0
}

// exitHarness is the exit code of every command whose harness failed.
const exitHarness = 3

// do runs the trial in this process, writes its history and returns the history's SHA-256. written counts the bytes,
// which shows that the trial proceeds.
func (given Instructions) do(ctx context.Context, w world.World, enough func(int) bool, written *atomic.Int64) (sum string, err error) {
	if err := sameModule(given.Input); err != nil {
		return "", err
	}
	file, err := os.OpenFile(given.History, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return "", fmt.Errorf("create the history: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	say := func(string) {}
	if given.Logs != "" {
		log, err := trial.CreateLog(filepath.Join(given.Logs, "trial.log"), Epoch)
		if err != nil {
			return "", err
		}
		defer log.Close()
		say = log.Say
	}
	to := summed{file, sha256.New(), written}
	err = given.Input.Do(ctx, w, nil, enough, to, given.Logs, say)
	return hex.EncodeToString(to.sum.Sum(nil)), err
}

// summed computes the checksum and the size of a history while it is written.
type summed struct {
	*os.File
	sum  hash.Hash
	size *atomic.Int64
}

func (s summed) Write(b []byte) (int, error) {
	n, err := s.File.Write(b)
	_, _ = s.sum.Write(b[:n]) // cannot fail
	s.size.Add(int64(n))
	return n, err
}

// Epoch is when time begins in a synctest bubble.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// parent is the process that started this one. It reads the history while it is written, and decides after each episode
// whether to stop.
type parent struct {
	mu      sync.Mutex
	w       io.Writer
	written atomic.Int64 // bytes of the history
	asking  atomic.Bool  // the trial waits for an answer, and the simulated clock is stopped
	answers chan bool    // made outside the bubble, or virtual time would advance during the wait
	// asks is whether the parent wants to be asked. endsAfter is the last episode; 0: no
	// episode is the last by number.
	asks      bool
	endsAfter int
}

func (p *parent) say(m message) {
	line, err := json.Marshal(m)
	if err != nil {
		return // impossible: only texts and numbers
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.w.Write(append(line, '\n')) // if the parent is gone, the end of the input ends this process
}

// enough asks the parent whether the trial ends with this episode.
func (p *parent) enough(episode int) bool {
	if episode == p.endsAfter {
		return true
	}
	if !p.asks {
		return false
	}
	p.asking.Store(true)
	defer p.asking.Store(false)
	p.say(message{Ask: episode})
	return <-p.answers
}

// fail reports why the trial cannot continue, and ends the process.
func (p *parent) fail(why string) {
	p.say(message{Done: true, Error: why})
	os.Exit(exitHarness)
}

// every calls look periodically until stop is closed.
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

// watchStuck ends the process when the simulation does not proceed.
func watchStuck(w *sim.World, stop <-chan struct{}, p *parent, in trial.Input) {
	var still watch
	every(lookEvery, stop, func() {
		if p.asking.Load() {
			still = watch{}
			return
		}
		if why := still.look(w.Moved()+p.written.Load(), "Try the lock on real servers, with --world local", sim.LookAt); why != "" {
			p.fail(fmt.Sprintf("the simulated clock has stood still for %s in the run of %s with seed %d: %s", still.stood(), in.Lock.Name, in.Seed, why))
		}
	})
}

// watchMemory ends the process when it needs more than GOMEMLIMIT in spite of the garbage
// collector. A simulation that never ends does not wait for anything and would use all memory
// within minutes.
func watchMemory(stop <-chan struct{}, p *parent, in trial.Input) {
	limit := debug.SetMemoryLimit(-1) // only reads
	if limit == math.MaxInt64 {
		return
	}
	used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	const looks = 5 // in a row: a single one may come before the garbage collector has run
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
		p.fail(fmt.Sprintf(
			"the simulated run of %s with seed %d needs more than %d MiB of memory: it probably does not end, or it is too long for one run. Reduce --episodes or --duration, or allow more memory: GOMEMLIMIT=%dMiB",
			in.Lock.Name, in.Seed, limit>>20, limit>>19))
	})
}
