package search

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/child"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/virtual/wasm"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/workloads"
)

// setJob is a line that a process of a search through sets reads.
type setJob struct {
	Input  trial.Input `json:"input"`
	Rounds int         `json:"rounds"`
	Faults int         `json:"faults"`
	// All returns the points before the last fault, too.
	All bool `json:"all,omitempty"`
	// Collect empties the pools of libraries before the set. Libraries keep timers in pools of the process, and a timer of
	// one bubble must not be used in another.
	Collect bool `json:"collect,omitempty"`
}

// setAnswer is the line that it writes for each job.
type setAnswer struct {
	// Set is 1. The line begins with it, which tells it from output of the lock.
	Set     int      `json:"set"`
	Outcome *outcome `json:"outcome,omitempty"`
	Points  []point  `json:"points,omitempty"`
	// Missed is why the last fault did not start: its point did not occur.
	Missed string `json:"missed,omitempty"`
	// Error is a failure of the harness, Unsupported why the lock cannot be tried here.
	Error       string `json:"error,omitempty"`
	Unsupported string `json:"unsupported,omitempty"`
}

// ServeSets runs one set of faults after another in this process until the input ends. open returns the opener of a lock
// by name and options, and own is a user's lock, or nil.
func ServeSets(ctx context.Context, in io.Reader, out io.Writer, open func(string, map[string]string) (locks.Opener, error), own *trial.Opener) error {
	read, write := json.NewDecoder(in), json.NewEncoder(out)
	w := sim.New(sim.Options{Models: services.Models(), Open: open, ModuleCache: wasm.CacheDir()})
	for {
		var job setJob
		if err := read.Decode(&job); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a set of faults: %w", err)
		}
		if job.Collect {
			runtime.GC() // a pool is emptied by the second collection
			runtime.GC()
		}
		answer := job.watched(ctx, w, own)
		answer.Set = 1
		if err := write.Encode(answer); err != nil {
			return fmt.Errorf("write what a set of faults shows: %w", err)
		}
	}
}

// watched is do, with an error if virtual time cannot advance any more. The process must end then, because the
// simulation of the set has not ended.
func (job setJob) watched(ctx context.Context, w *sim.World, own *trial.Opener) setAnswer {
	answer, why := child.Watched(func() setAnswer { return job.do(ctx, w, own) }, w.Moved, "Try the lock on real servers, with --world local")
	if why != "" {
		return setAnswer{Error: "virtual time stood still: " + why}
	}
	return answer
}

// do runs a set and judges its history.
func (job setJob) do(ctx context.Context, w *sim.World, own *trial.Opener) (answer setAnswer) {
	if file := job.Input.Lock.Module; file != "" {
		if err := w.Prepare(ctx, file); err != nil {
			return setAnswer{Error: err.Error()}
		}
	}
	text := taken{sum: sha256.New()}
	if err := job.Input.Do(ctx, w, own, nil, &text, "", func(string) {}); err != nil {
		if not := (world.Unsupported{}); errors.As(err, &not) {
			return setAnswer{Unsupported: not.Why.Error()}
		}
		return setAnswer{Error: err.Error()}
	}
	h, err := history.Build(text.header, text.events)
	if err != nil {
		return setAnswer{Error: err.Error()}
	}
	for _, e := range h.Events {
		if strings.Contains(e.Error, guest.Panicked) {
			return setAnswer{Error: e.Error}
		}
	}
	if len(h.Faults) < job.Faults || job.Faults > 0 && h.Faults[job.Faults-1].Bites < 0 {
		return setAnswer{Missed: "the last fault did not take effect"}
	}
	if answer.Outcome, err = judgeHistory(h, hex.EncodeToString(text.sum.Sum(nil))); err != nil {
		return setAnswer{Error: err.Error()}
	}
	answer.Points = points(h, job)
	return answer
}

// taken keeps the events of a history, and only the checksum of its text.
type taken struct {
	sum    hash.Hash
	header history.Header
	events []history.Event
}

func (t *taken) Write(text []byte) (int, error) { return t.sum.Write(text) }
func (t *taken) TakeHeader(h history.Header)    { t.header = h }
func (t *taken) TakeEvent(e history.Event)      { t.events = append(t.events, e) }

// points returns the moments of clients after the last fault took effect, until each client was granted the lock so often
// as the search wants.
func points(h *history.History, job setJob) []point {
	from := -1
	for _, f := range h.Faults {
		if !job.All {
			from = max(from, f.Bites)
		}
	}
	seen := map[point]int{}
	granted := map[string]bool{}
	left := make([]int, job.Input.Workload.Clients) // rounds of each client
	for id := range left {
		left[id] = job.Rounds
	}
	var all []point
	for i := range h.Events {
		e := &h.Events[i]
		id := int(e.Client)
		if e.Process < 0 || id >= len(left) || left[id] == 0 {
			continue
		}
		event := momentOf(e, granted)
		if event == "" {
			continue
		}
		if event == workloads.Released {
			left[id]--
		}
		at := point{Client: id, Event: event}
		seen[at]++
		at.Nth = seen[at]
		if i > from {
			all = append(all, at)
		}
	}
	return all
}

// momentOf returns the moment of a client that an event of the history shows, or "".
func momentOf(e *history.Event, granted map[string]bool) workloads.Event {
	switch {
	case e.F == history.Acquire && e.Type == history.Invoke:
		return workloads.Acquiring
	case e.F == history.Acquire && e.Type == history.OK:
		granted[e.Session] = true
		return workloads.Acquired
	case e.F == history.Acquire && e.Type == history.Fail && e.Error == history.ErrorTaken:
		return workloads.Waiting
	case (e.F == history.Write || e.F == history.Renew) && e.Type == history.Invoke:
		return workloads.Checked
	case e.F == history.Release && e.Type == history.Invoke:
		return workloads.Releasing
	case e.F == history.Release && granted[e.Session]:
		return workloads.Released
	}
	return ""
}

// pool is the processes of a search. A process that dies or hangs is replaced, and only its set did not run.
type pool struct {
	command []string
	env     []string
	size    int
	limit   time.Duration // how long a set may take
	idle    chan *worker  // nil: a process is to be started
	// ran and died count the sets, and the sets that a process failed after it had run others. See careful.
	ran, died atomic.Int64
	processor atomic.Int64 // the processor time of the processes that have ended, in nanoseconds
}

// worker is a process that runs sets.
type worker struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	log  *bytes.Buffer
	sets int // how many it has run
}

// setLimit is how long a set may take. In virtual time only a lock that computes forever, or blocks the clock, takes long.
const setLimit = 20 * time.Second

var errTooLong = errors.New("the lock computes forever")

func newPool(command, env []string, size int) *pool {
	p := &pool{command: command, env: env, size: size, limit: setLimit, idle: make(chan *worker, size)}
	for range size {
		p.idle <- nil
	}
	return p
}

func (p *pool) start() (*worker, error) {
	w := &worker{cmd: exec.Command(p.command[0], p.command[1:]...), log: new(bytes.Buffer)}
	w.cmd.Env = append(child.LeanEnvironment("GOGC=800"), p.env...)
	w.cmd.Stderr = w.log
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.in, w.out = in, bufio.NewReader(out)
	return w, w.cmd.Start()
}

// end ends a process at once.
func (p *pool) end(w *worker) {
	if w == nil {
		return
	}
	w.kill()
	_ = w.cmd.Wait() // it was killed
	if state := w.cmd.ProcessState; state != nil {
		p.processor.Add(int64(state.UserTime() + state.SystemTime()))
	}
}

func (w *worker) kill() {
	_ = w.in.Close()
	_ = w.cmd.Process.Kill()
}

func (p *pool) close() {
	for range p.size {
		p.end(<-p.idle)
	}
}

// careful reports whether libraries keep so much state between sets that collecting it costs less than the processes that
// die of it.
func (p *pool) careful() bool {
	const deaths, each = 3, 40
	died := p.died.Load()
	return died >= deaths && died*each > p.ran.Load()
}

// try runs a set in a process. A set that fails in a process that has run others runs again in a new process, because
// state that a library keeps in the process can be the cause.
func (p *pool) try(ctx context.Context, job setJob) (answer setAnswer, err error) {
	w := <-p.idle
	defer func() { p.idle <- w }()
	p.ran.Add(1)
	for {
		if w == nil {
			if w, err = p.start(); err != nil {
				return answer, fmt.Errorf("start the process that runs sets of faults: %w", err)
			}
		}
		job.Collect = w.sets > 0 && p.careful()
		answer, err = w.try(ctx, job, p.limit)
		if err == nil && answer.Error == "" {
			w.sets++
			return answer, nil
		}
		p.end(w)
		if log := strings.TrimSpace(w.log.String()); err != nil && log != "" {
			err = fmt.Errorf("%w: %.300s", err, log)
		}
		again := w.sets > 0 && ctx.Err() == nil && !errors.Is(err, errTooLong)
		w = nil
		if !again {
			return answer, err
		}
		p.died.Add(1)
	}
}

// answer reads an answer. It skips what the lock prints.
func (w *worker) answer(a *setAnswer) error {
	for {
		line, err := w.out.ReadBytes('\n')
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte(`{"set":1`)) {
			return json.Unmarshal(line, a)
		}
	}
}

// try runs a set. After an error the process must end.
func (w *worker) try(ctx context.Context, job setJob, longest time.Duration) (answer setAnswer, err error) {
	answered := make(chan error, 1)
	go func() {
		err := json.NewEncoder(w.in).Encode(job)
		if err == nil {
			err = w.answer(&answer)
		}
		answered <- err
	}()
	limit := time.NewTimer(longest)
	defer limit.Stop()
	give := func(why error) (setAnswer, error) {
		w.kill()
		<-answered // the process has ended
		return setAnswer{}, why
	}
	select {
	case err = <-answered:
		if err != nil {
			err = errors.New("the process that ran the set ended")
		}
		return answer, err
	case <-ctx.Done():
		return give(context.Cause(ctx))
	case <-limit.C:
		return give(fmt.Errorf("%w: longer than %v of real time", errTooLong, longest))
	}
}
