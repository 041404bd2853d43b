package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"lockbench/internal/world"
)

// A trial in virtual time gets a process of its own, which is told its input on standard
// input and says on standard output, in JSON lines, how it gets on:
//
//	Subprocess ── instructions ──▶ sim-trial ──▶ history.jsonl
//	           ◀── messages ──
//	           ── answers ──▶                  after an episode: is that enough?
//
// Whether it is enough is judged here and not there: one place judges for all worlds
// and knows of all locks, and a search with a limit of time would have none in a
// process whose clock stands still meanwhile.
//
// One process per trial, because what a library keeps for the whole process belongs to
// the bubble in which it was made; and a process that stops or dies is that trial's
// failure alone.

// Subprocess is a trial in a process of its own.
type Subprocess struct {
	Command []string // see [world.Enclosing]
	Instructions
	// SilenceMax is how many seconds the process may say nothing if its clients are modules.
	// 0 means a minute.
	SilenceMax int
}

// Instructions are what the process is told first.
type Instructions struct {
	Input   Input  `json:"input"`
	History string `json:"history"`       // the file, which it makes
	Logs    string `json:"logs"`          // the folder; empty: it keeps none
	Ask     bool   `json:"ask,omitempty"` // after each episode, whether that is enough
}

// answer is what the process is told when it has asked.
type answer struct {
	Enough bool `json:"enough"`
}

// message is a line that it says.
type message struct {
	Fault   string   `json:"fault,omitempty"`
	Warning string   `json:"warning,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Episode int      `json:"episode,omitempty"`
	Ask     int      `json:"ask,omitempty"`    // this episode is over: is that enough?
	Grants  int64    `json:"grants,omitempty"` // since the last message
	Done    bool     `json:"done,omitempty"`
	// Error is a failure of the harness; Unsupported that the lock cannot be tried here.
	Error       string `json:"error,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`
	Sum         string `json:"sum,omitempty"` // the SHA-256 of the history
}

// stillLimit is how long, in real time, the simulated clock may stand still before
// the trial counts as stuck; a library has waited with a mutex held, most likely.
const stillLimit = time.Minute

// deterministic makes libraries that draw from the process's own source of chance
// heed its seed.
const deterministic = "randseednop=0"

// Run does the trial and returns the SHA-256 of its history. Its error is a failure of
// the harness. Of the observer's methods it calls all but Phase.
func (s Subprocess) Run(ctx context.Context, observer Observer) (sum string, err error) {
	lock := s.Input.Lock.Name
	wrong := func(err error) (string, error) {
		return "", fmt.Errorf("run %s in a process of its own: %w", lock, err)
	}
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Env = append(os.Environ(), "GODEBUG="+strings.TrimPrefix(os.Getenv("GODEBUG")+","+deterministic, ","))
	collect := "GOGC=800"
	if s.Input.Lock.Module != "" {
		// What a module was compiled to is live all the time, and eight times that is a lot.
		collect = "GOGC=200"
	}
	for _, lean := range []string{"GOMAXPROCS=1", collect, "GOMEMLIMIT=4GiB"} {
		// Hardly anything runs side by side within a trial, and much is thrown away; ten
		// minutes of a busy lock need a tenth of a gigabyte (watchMemory). What comes of it
		// is the same with other settings; people who want them can say so.
		if name, _, _ := strings.Cut(lean, "="); os.Getenv(name) == "" {
			cmd.Env = append(cmd.Env, lean)
		}
	}
	// Asked to stop in good order first: it heals, and what was recorded is judged.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * stillLimit
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
	// Its input stays open while we live: a process whose harness is gone ends by that.
	defer in.Close()
	send := json.NewEncoder(in)
	sendErr := send.Encode(s.Instructions)
	watch := s.watch(cmd)
	var last message
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		watch.heard()
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			said.line(lines.Text())
			continue
		}
		switch {
		case m.Done:
			last = m
		case m.Fault != "":
			observer.Fault(m.Fault)
		case m.Warning != "":
			observer.Warning(m.Warning)
		case len(m.Notes) > 0:
			observer.Notes(m.Notes)
		case m.Episode > 0:
			observer.Episode(m.Episode)
		case m.Ask > 0:
			sendErr = errors.Join(sendErr, send.Encode(answer{observer.Enough(m.Ask)}))
		}
		for range m.Grants {
			observer.Granted()
		}
	}
	waitErr := cmd.Wait()
	silent := watch.end()
	switch {
	case last.Unsupported:
		// Said once, without where in the other process it was met.
		_, why, _ := strings.Cut(last.Error, world.ErrUnsupportedHere.Error()+": ")
		return "", fmt.Errorf("%w: %s", world.ErrUnsupportedHere, why)
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
	return "", fmt.Errorf("the process of the simulated run of %s with seed %d ended without a word: %w; %s", lock, s.Input.Seed, why, said.text())
}

// lastOutput keeps the end of what a process has said.
type lastOutput struct {
	mu   sync.Mutex
	said []byte
}

const lastOutputMax = 2000

func (o *lastOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = append(o.said, b...)
	if len(o.said) > lastOutputMax {
		o.said = append(o.said[:0], o.said[len(o.said)-lastOutputMax:]...)
	}
	return len(b), nil
}

func (o *lastOutput) line(text string) { _, _ = o.Write([]byte(text + "\n")) }

func (o *lastOutput) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.said) == 0 {
		return "it said nothing"
	}
	return "it said: " + strings.TrimSpace(string(o.said))
}
