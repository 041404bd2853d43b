package wasm

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"
)

// Outside is the environment of a machine. Its methods are called while the machine runs, and never wait.
type Outside interface {
	// Now returns the right time.
	Now() time.Time
	// Wall returns the time by the machine's wall clock, which may be wrong.
	Wall() time.Time
	// Dial begins a connection to HOST:PORT.
	Dial(addr string) Socket
}

// Socket is a connection in the kernel of a machine. No method waits: an operation that is not possible yet
// returns [ErrAgain], and when it becomes possible, the owner of the socket must run the machine.
type Socket interface {
	Read(b []byte) (int, error)
	// Write takes all of b or nothing. With an empty b it reports whether the connection is made.
	Write(b []byte) (int, error)
	// Readable and Writable report whether Read and Write would not return ErrAgain.
	Readable() bool
	Writable() bool
	Close()
}

// ErrAgain means that an operation is not possible yet.
var ErrAgain = errors.New("not yet")

// Program describes how a machine is started.
type Program struct {
	Args []string // the first is the name of the program
	Env  []string
	Seed uint64 // of its randomness, with the number of the client
	ID   int
	// Output receives its standard output, and Log the lines of its standard error. They are called while it
	// runs.
	Output func([]byte)
	Log    func(line string)
}

// Machine is one running program.
type Machine struct {
	module  *Module
	program Program
	outside Outside
	files   map[int32]*file
	input   input
	said    bytes.Buffer // of standard error, the line that has not ended

	resume func() (struct{}, bool)
	yield  func(struct{}) bool
	killed bool
	ended  bool
	err    error

	wait wait
	mono steady
}

// wait is the end of a wait by time.
type wait struct {
	timed bool
	mono  int64 // by its steady clock; 0: unused
	wall  int64 // by its wall clock, nanoseconds since 1970; 0: unused
}

// The exit code of a killed program, as shells report it.
const exitKilled = 137

// Start creates a machine. It does not run yet.
func (m *Module) Start(o Outside, p Program) *Machine {
	v := &Machine{module: m, program: p, outside: o}
	v.files = v.newFiles()
	v.mono.start(o.Now())
	v.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		v.yield = yield
		v.main()
	})
	return v
}

// main runs the program.
func (v *Machine) main() {
	ctx := withMemory(context.WithValue(context.Background(), machineKey{}, v))
	if v.killed {
		v.err = sys.NewExitError(exitKilled)
		return
	}
	var key [32]byte
	littleEndian.PutUint64(key[:], v.program.Seed)
	littleEndian.PutUint64(key[8:], uint64(v.program.ID))
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithArgs(v.program.Args...).
		WithRandSource(rand.NewChaCha8(key)).WithFSConfig(wazero.NewFSConfig().WithFSMount(embed.FS{}, "/"))
	for _, variable := range v.program.Env {
		name, value, _ := strings.Cut(variable, "=")
		config = config.WithEnv(name, value)
	}
	mod, err := v.module.runtime.InstantiateModule(ctx, v.module.compiled, config)
	if err == nil {
		_, err = mod.ExportedFunction(entry).Call(ctx)
		err = errors.Join(err, mod.Close(ctx))
	}
	v.err = err
}

// Run runs the machine until it waits, and reports whether it has not ended.
func (v *Machine) Run() bool {
	if v.ended {
		return false
	}
	if _, alive := v.resume(); alive {
		return true
	}
	v.ended = true
	v.flushLog()
	for _, fd := range slices.Sorted(maps.Keys(v.files)) {
		v.closeFile(fd)
	}
	return false
}

// Kill ends the machine without another step.
func (v *Machine) Kill() {
	v.killed = true
	v.Run()
}

// Err returns how it ended; nil: with exit code 0.
func (v *Machine) Err() error {
	var exit *sys.ExitError
	switch {
	case v.err == nil:
		return nil
	case errors.As(v.err, &exit) && exit.ExitCode() == 0:
		return nil
	case errors.As(v.err, &exit):
		return fmt.Errorf("exit code %d", exit.ExitCode())
	}
	return v.err
}

// Feed adds standard input.
func (v *Machine) Feed(b []byte) { v.input.data = append(v.input.data, b...) }

// EndInput ends the standard input.
func (v *Machine) EndInput() { v.input.ended = true }

// SetRate lets both clocks, and all waits, gain nanoseconds in every millisecond from now on. The steady clock
// does not jump.
func (v *Machine) SetRate(gain int64) { v.mono.setRate(v.outside.Now(), gain) }

// Gained returns how far its steady clock is ahead of the right one.
func (v *Machine) Gained() time.Duration { return v.mono.gained(v.outside.Now()) }

// Deadline returns the right time at which its wait ends at the latest.
func (v *Machine) Deadline() (at time.Time, ok bool) {
	if !v.wait.timed {
		return time.Time{}, false
	}
	now := v.outside.Now()
	for _, left := range v.left(now) {
		if due := now.Add(v.mono.inRightTime(max(left, 0))); at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at, true
}

// left returns the remaining time of its clocks.
func (v *Machine) left(now time.Time) (all []int64) {
	if v.wait.mono > 0 {
		all = append(all, v.wait.mono-v.mono.at(now))
	}
	if v.wait.wall > 0 {
		all = append(all, v.wait.wall-v.outside.Wall().UnixNano())
	}
	return all
}

// park waits until the caller runs the machine again.
func (v *Machine) park(w wait) {
	v.wait = w
	if !v.yield(struct{}{}) || v.killed {
		panic(sys.NewExitError(exitKilled))
	}
}

// flushLog logs the unfinished line of its standard error.
func (v *Machine) flushLog() {
	if v.said.Len() > 0 {
		v.program.Log(v.said.String())
		v.said.Reset()
	}
}
