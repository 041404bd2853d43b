package wasm

import (
	"bytes"
	"context"
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

// Outside is the world of a machine. Its methods are called while the machine runs, and
// never wait.
type Outside interface {
	// Now is the right time.
	Now() time.Time
	// Wall is the time by the machine's own wall clock, which may be wrong.
	Wall() time.Time
	// Dial begins a connection to HOST:PORT.
	Dial(addr string) Socket
}

// Socket is a connection as the kernel of a machine has it. No method waits: what cannot
// be done yet is answered with [ErrAgain], and when the socket is ready again, its owner must run
// the machine.
type Socket interface {
	Read(b []byte) (int, error)
	// Write takes all of b or nothing. Of nothing, it says whether the connection is made.
	Write(b []byte) (int, error)
	// Readable says whether Read would answer otherwise than ErrAgain, and Writable that of
	// Write.
	Readable() bool
	Writable() bool
	Close()
}

// ErrAgain is that something cannot be done yet.
var ErrAgain = errors.New("not yet")

// Program is what a machine is started with.
type Program struct {
	Args []string // the first is the name of the program
	Env  []string
	Seed uint64 // of its chance, with the number of the client
	ID   int
	// Output hears what it writes to its standard output, and Log the lines of its standard
	// error. They are called while it runs.
	Output func([]byte)
	Log    func(line string)
}

// Machine is one running program.
type Machine struct {
	module  *Module
	program Program
	outside Outside
	chance  *rand.ChaCha8
	files   map[int32]any
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

// wait is what a stopped machine waits for, besides its files.
type wait struct {
	timed bool
	mono  int64 // by its steady clock; 0: not by that
	wall  int64 // by its wall clock, nanoseconds since 1970; 0: not by that
}

// The exit code of who was killed, as a shell tells it.
const exitKilled = 137

// Start makes a machine. It does not run yet.
func (m *Module) Start(o Outside, p Program) *Machine {
	var key [32]byte
	littleEndian.PutUint64(key[:], p.Seed)
	littleEndian.PutUint64(key[8:], uint64(p.ID))
	v := &Machine{module: m, program: p, outside: o, chance: rand.NewChaCha8(key), files: newFiles()}
	v.mono.start(o.Now())
	v.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		v.yield = yield
		v.main()
	})
	return v
}

// main is the whole life of the program.
func (v *Machine) main() {
	ctx := withMemory(context.WithValue(context.Background(), machineKey{}, v))
	if v.killed {
		v.err = sys.NewExitError(exitKilled)
		return
	}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithArgs(v.program.Args...).WithRandSource(v.chance)
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

// Run lets the machine go on until it waits, and says whether it is still there.
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

// Kill ends the machine without another step of its own.
func (v *Machine) Kill() {
	v.killed = true
	v.Run()
}

// Err says how it ended. Nil: in good order.
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

// Feed is what comes on its standard input.
func (v *Machine) Feed(b []byte) { v.input.data = append(v.input.data, b...) }

// EndInput is the end of its standard input.
func (v *Machine) EndInput() { v.input.ended = true }

// SetRate lets both clocks gain so many nanoseconds in every millisecond from now on, and
// with them all that it waits for. The steady clock goes on from where it is.
func (v *Machine) SetRate(gain int64) { v.mono.setRate(v.outside.Now(), gain) }

// Gained is by how much its steady clock has gone further than the right one.
func (v *Machine) Gained() time.Duration { return v.mono.gained(v.outside.Now()) }

// Deadline is the right time at which its wait ends, if nothing else ends it.
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

// left is how long its clocks still have to go.
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

// flushLog says what stands on a line of its standard error that has no end.
func (v *Machine) flushLog() {
	if v.said.Len() > 0 {
		v.program.Log(v.said.String())
		v.said.Reset()
	}
}
