// Package child runs a trial in virtual time in a process of its own.
package child

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"lockbench/internal/trial"
	"lockbench/internal/world"
)

// A trial in virtual time runs in its own process. The process reads its input from standard
// input and writes the history, which shows its progress. On its standard output are JSON lines:
//
//	Process    ── instructions ──▶ sim-trial ──▶ history.jsonl
//	           ◀── messages ──                 it lives; it is done
//	           ── answers ──▶                  after an episode: is that enough?
//
// The parent decides whether a trial has seen enough, because one place judges for all
// worlds and knows the results of all locks.
//
// Each trial has a process, because the global state of a library belongs to the synctest
// bubble in which the library created it. A process that hangs or dies fails only its trial.

// Process is a trial that runs in its own process.
type Process struct {
	Command []string // see [world.Description.Enclosure]
	Instructions
	// SilenceMax is how many seconds the process may print nothing. 0 means a minute.
	SilenceMax int
}

const (
	// beatEvery is how often a process prints at least one message.
	beatEvery = time.Second
	// silenceMax is how many of these periods may pass without a message. A process in which a WASM guest computes forever
	// prints nothing: compiled guest code is not preempted, and the process has one processor.
	silenceMax = 60
)

// lineMax is the length of the longest message. The process can print longer lines, because a library prints them.
const lineMax = 1 << 20

// Instructions are the first line that the process reads.
type Instructions struct {
	Input   trial.Input `json:"input"`
	History string      `json:"history"`       // the file that it creates
	Logs    string      `json:"logs"`          // the folder for logs; empty: no logs
	Ask     bool        `json:"ask,omitempty"` // ask after each episode whether to stop; Run sets it
}

// answer is the parent's reply to a question.
type answer struct {
	Enough bool `json:"enough"`
}

// message is a line that the process prints.
type message struct {
	Ask  int  `json:"ask,omitempty"` // this episode is over: is that enough?
	Done bool `json:"done,omitempty"`
	// Error is a failure of the harness, Unsupported why the lock cannot be tried here.
	Error       string `json:"error,omitempty"`
	Unsupported string `json:"unsupported,omitempty"`
	Sum         string `json:"sum,omitempty"` // the SHA-256 of the history
}

// deterministic makes math/rand.Seed take effect, for libraries that draw from the global source.
const deterministic = "randseednop=0"

// LeanEnvironment returns the environment of a process that runs simulated trials. A trial has little parallelism and
// allocates mostly short-lived memory. The history does not depend on these settings, and the environment can override
// them.
func LeanEnvironment(collect string) []string {
	env := append(os.Environ(), "GODEBUG="+strings.TrimPrefix(os.Getenv("GODEBUG")+","+deterministic, ","))
	for _, lean := range []string{"GOMAXPROCS=1", collect, "GOMEMLIMIT=4GiB"} {
		if name, _, _ := strings.Cut(lean, "="); os.Getenv(name) == "" {
			env = append(env, lean)
		}
	}
	return env
}

// Run runs the trial and returns the SHA-256 of its history. An error is a failure of the
// harness. For enough see [trial.Trial].
func (s Process) Run(ctx context.Context, enough func(episode int) bool) (sum string, err error) {
	lock := s.Input.Lock.Name
	s.Ask = enough != nil
	wrong := func(err error) (string, error) {
		return "", fmt.Errorf("run %s in a process of its own: %w", lock, err)
	}
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	collect := "GOGC=800"
	if s.Input.Lock.Module != "" {
		// The compiled WASM guest stays live, and eight times its size is too much memory.
		collect = "GOGC=200"
	}
	cmd.Env = LeanEnvironment(collect)
	// An interrupt lets the process undo its faults and close the history, which is then judged.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * silenceMax * beatEvery
	var said lastOutput
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return wrong(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return wrong(err)
	}
	if err := cmd.Start(); err != nil {
		return wrong(err)
	}
	// The input stays open while the parent lives: the process exits at the end of its input.
	defer in.Close()
	send := json.NewEncoder(in)
	sendErr := send.Encode(s.Instructions)
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		read := bufio.NewReaderSize(out, lineMax)
		for {
			line, err := read.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
			lines <- bytes.Clone(line) // a part of a longer line is no message
		}
	}()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	var last message
	var silent error
	// Like a watch, it counts ticks instead of measuring time.
	for silence := 0; lines != nil; {
		select {
		case line, more := <-lines:
			if !more {
				lines = nil
				continue
			}
			silence = 0
			var m message
			if json.Unmarshal(line, &m) != nil {
				continue // a library has printed it
			}
			if m.Done {
				last = m
			}
			if m.Ask > 0 {
				sendErr = errors.Join(sendErr, send.Encode(answer{enough(m.Ask)}))
			}
		case <-tick.C:
			if silence++; silence == cmp.Or(s.SilenceMax, silenceMax) {
				silent = fmt.Errorf("the process of the simulated run of %s with seed %d printed nothing for %v and was killed", lock, s.Input.Seed, time.Duration(silence)*beatEvery)
				if file := s.Input.Lock.Module; file != "" {
					silent = fmt.Errorf("%w: a client of the module %s probably computes forever", silent, file)
				}
				_ = cmd.Process.Kill() // the process may already have exited
			}
		}
	}
	waitErr := cmd.Wait()
	switch {
	case last.Unsupported != "":
		return "", world.Unsupportedf("%s", last.Unsupported)
	case last.Error != "":
		return "", errors.New(last.Error)
	case last.Done:
		return last.Sum, nil
	case silent != nil:
		return "", silent
	}
	why := errors.Join(sendErr, waitErr)
	if why == nil {
		why = errors.New("exit status 0")
	}
	return "", fmt.Errorf("the process of the simulated run of %s with seed %d ended without a result: %w; it wrote last: %s",
		lock, s.Input.Seed, why, strings.TrimSpace(string(said)))
}

// lastOutput keeps the end of the output of a process.
type lastOutput []byte

const lastOutputMax = 2000

func (o *lastOutput) Write(b []byte) (int, error) {
	*o = append(*o, b...)
	if extra := len(*o) - lastOutputMax; extra > 0 {
		*o = append((*o)[:0], (*o)[extra:]...)
	}
	return len(b), nil
}
