package run

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

// A run in virtual time gets a process of its own, which is told its job on
// standard input and says on standard output, in JSON lines, how it gets on:
//
//	run ── order ──▶ sim-trial ──▶ history.jsonl
//	    ◀── notes ──
//	    ── answers ──▶              after an episode: is that enough?
//
// Whether it is enough is judged here and not there: one place judges for all worlds
// and knows of all locks, and a search with a limit of time would have none in a
// process whose clock stands still meanwhile.
//
// One process per run, because what a library keeps for the whole process belongs to
// the bubble in which it was made; and a process that stops or dies is that run's
// failure alone.

// order is what the process is told.
type order struct {
	Job     Job    `json:"job"`
	History string `json:"history"` // the file, which it makes
	Logs    string `json:"logs"`
	Judge   bool   `json:"judge,omitempty"` // and say what the history shows
	Ask     bool   `json:"ask,omitempty"`   // after each episode, whether that is enough
}

// answer is what the process is told when it has asked.
type answer struct {
	Enough bool `json:"enough"`
}

// trialNote is a line that it says.
type trialNote struct {
	Fault   string `json:"fault,omitempty"`
	Episode int    `json:"episode,omitempty"`
	Ask     int    `json:"ask,omitempty"`    // this episode is over: is that enough?
	Grants  int64  `json:"grants,omitempty"` // since the last note
	Done    bool   `json:"done,omitempty"`
	// Error is a failure of the harness; Unsupported that the lock cannot be tried here.
	Error       string   `json:"error,omitempty"`
	Unsupported bool     `json:"unsupported,omitempty"`
	Summary     *summary `json:"summary,omitempty"`
}

// stillLimit is how long, in real time, the simulated clock may stand still before
// the run counts as stuck; a library has waited with a mutex held, most likely.
const stillLimit = time.Minute

// deterministic makes libraries that draw from the process's own source of chance
// heed its seed.
const deterministic = "randseednop=0"

// enclosed runs a job in a process of its own. Its error is a failure of the harness.
// enough answers the process that was ordered to ask.
func enclosed(ctx context.Context, command []string, o order, observer observer, enough func(episode int) bool) (*summary, error) {
	lock := o.Job.Lock.Name
	wrong := func(err error) (*summary, error) {
		return nil, fmt.Errorf("run %s in a process of its own: %w", lock, err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "GODEBUG="+strings.TrimPrefix(os.Getenv("GODEBUG")+","+deterministic, ","))
	for _, lean := range []string{"GOMAXPROCS=1", "GOGC=800", "GOMEMLIMIT=4GiB"} {
		// Hardly anything runs side by side within a run, and much is thrown away; ten
		// minutes of a busy lock need a tenth of a gigabyte (watchMemory). What comes of it
		// is the same with other settings; people who want them can say so.
		if name, _, _ := strings.Cut(lean, "="); os.Getenv(name) == "" {
			cmd.Env = append(cmd.Env, lean)
		}
	}
	// Asked to stop in good order first: it heals, and what was recorded is judged.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * stillLimit
	var said tail
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
	sendErr := send.Encode(o)
	var last trialNote
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var n trialNote
		if json.Unmarshal(lines.Bytes(), &n) != nil {
			said.line(lines.Text())
			continue
		}
		switch {
		case n.Done:
			last = n
		case n.Fault != "":
			observer.fault(lock, n.Fault)
		case n.Episode > 0:
			observer.episode(lock, n.Episode)
		case n.Ask > 0:
			sendErr = errors.Join(sendErr, send.Encode(answer{enough(n.Ask)}))
		}
		for range n.Grants {
			observer.grant()
		}
	}
	waitErr := cmd.Wait()
	switch {
	case last.Unsupported:
		// Said once, without where in the other process it was met.
		_, why, _ := strings.Cut(last.Error, world.ErrUnsupportedHere.Error()+": ")
		return nil, fmt.Errorf("%w: %s", world.ErrUnsupportedHere, why)
	case last.Error != "":
		return nil, errors.New(last.Error)
	case last.Done:
		return last.Summary, nil
	}
	return nil, fmt.Errorf("the process of the simulated run of %s with seed %d ended without a word: %w; %s", lock, o.Job.Seed, errors.Join(sendErr, waitErr), said.text())
}

// tail keeps the end of what a process has said.
type tail struct {
	mu   sync.Mutex
	said []byte
}

const tailMax = 2000

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said = append(t.said, b...)
	if len(t.said) > tailMax {
		t.said = append(t.said[:0], t.said[len(t.said)-tailMax:]...)
	}
	return len(b), nil
}

func (t *tail) line(text string) { _, _ = t.Write([]byte(text + "\n")) }

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.said) == 0 {
		return "it said nothing"
	}
	return "it said: " + strings.TrimSpace(string(t.said))
}
