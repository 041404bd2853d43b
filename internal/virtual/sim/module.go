package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/virtual/wasm"
	"lockbench/internal/world"
)

// module is a lock client that is a WASM module, with its machine and kernel. A pause stops its
// timers, too, and it has its own clocks.
type module struct {
	base
	path  string
	own   class   // of the instants in which its timers fire
	said  *outlet // its standard output
	log   func(line string)
	dials int

	// mu is not held while the machine runs; turns ensures that nothing else touches the machine
	// then. It is taken after that of a connection.
	mu      sync.Mutex
	machine *wasm.Machine
	in      []byte // unread standard input
	inEnded bool
	woken   bool
	paused  bool
	killed  bool
	timer   *time.Timer
	armed   time.Time // the time of the timer
}

var (
	_ member       = (*module)(nil)
	_ wasm.Outside = (*module)(nil)
)

// Prepare loads a module before a client uses it, which may take long.
func (w *World) Prepare(ctx context.Context, module string) error {
	_, err := w.load(ctx, module)
	return err
}

// load returns a module, which it loads once.
func (w *World) load(ctx context.Context, path string) (*wasm.Module, error) {
	w.loading.Lock()
	defer w.loading.Unlock()
	if m := w.loaded[path]; m != nil {
		return m, nil
	}
	// It is kept until the process ends.
	m, err := wasm.Load(context.WithoutCancel(ctx), path, w.options.ModuleCache)
	if err != nil {
		return nil, err
	}
	w.loaded[path] = m
	return m, nil
}

// Meet starts a module and reads its hello.
func (w *World) Meet(ctx context.Context, s world.ClientSpec) (world.Met, error) {
	if s.Module == "" {
		return world.Met{}, world.Unsupported{Why: errProcess}
	}
	m, err := w.load(ctx, s.Module)
	if err != nil {
		return world.Met{}, err
	}
	line, err := m.FirstLine(ctx, program(s))
	if err != nil {
		return world.Met{}, err
	}
	hello, err := guest.ReadHello([]byte(line))
	return world.Met{Hello: hello}, err
}

// errProcess is returned for a guest that is a process.
var errProcess = errors.New("a guest is a process of its own, and its time cannot be simulated")

// program describes how to start the machine of a client.
func program(s world.ClientSpec) wasm.Program {
	return wasm.Program{Args: append([]string{filepath.Base(s.Module)}, s.Args...), Seed: s.Seed, ID: s.ID}
}

// startModule starts a module client.
func (c *cluster) startModule(ctx context.Context, s world.ClientSpec) (*module, error) {
	compiled, err := c.world.load(ctx, s.Module)
	if err != nil {
		return nil, err
	}
	m := &module{base: c.newBase(s.ID), path: s.Module, said: newOutlet(), log: s.Log, woken: true}
	m.own = classOf(m.name)
	if m.log == nil {
		m.log = func(string) {}
	}
	p := program(s)
	p.Output = m.said.write
	p.Log = func(line string) { m.log(m.name + ": " + line) }
	m.machine = compiled.Start(m, p)
	m.timer = time.AfterFunc(time.Hour, m.wake)
	m.timer.Stop()
	o := m.connOptions(s)
	o.Gained = m.gained
	m.conn = guest.NewConn(m.said, stdin{m}, o)
	c.turns.add(m)
	c.turns.wake()
	return m, nil
}

// Now, Wall and Dial are the machine's environment.
func (m *module) Now() time.Time  { return time.Now() }
func (m *module) Wall() time.Time { return m.clock.Now() }

// wake notes that data or an event has arrived for the module.
func (m *module) wake() {
	m.mu.Lock()
	m.woken = true
	m.mu.Unlock()
	m.cluster.turns.wake()
}

// wantsTurn reports whether the module can continue.
func (m *module) wantsTurn() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.killed || m.woken && !m.paused
}

// turn runs the machine until it waits, and then publishes its output. Nothing else runs
// meanwhile.
func (m *module) turn() {
	m.mu.Lock()
	m.woken = false
	m.machine.Feed(m.in)
	m.in = nil
	if m.inEnded {
		m.machine.EndInput()
	}
	killed := m.killed
	m.mu.Unlock()
	lives := false
	if killed {
		m.machine.Kill()
	} else {
		lives = m.machine.Run()
	}
	m.said.publish()
	if lives {
		m.arm()
		return
	}
	m.timer.Stop()
	if err := m.machine.Err(); err != nil && !killed {
		m.log(fmt.Sprintf("%s: the module has ended: %v", m.name, err))
	}
	m.cluster.turns.remove(m)
	m.said.end()
	close(m.gone)
}

// arm sets the timer to the end of the machine's wait, in the client's own instant.
func (m *module) arm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.machine.Deadline()
	switch {
	case !ok:
		m.timer.Stop()
		m.armed = time.Time{}
	case !at.Equal(m.armed):
		m.armed = at
		m.timer.Reset(time.Until(m.own.next(at)))
	}
}

// Pause stops the machine. Data for it waits in its kernel.
func (m *module) Pause(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused = true
	return nil
}

// Resume continues it. Timers that have expired meanwhile fire now.
func (m *module) Resume(context.Context) error {
	m.mu.Lock()
	m.paused = false
	m.mu.Unlock()
	m.wake()
	return nil
}

// Kill ends the machine before its next step.
func (m *module) Kill(context.Context) error {
	m.kill()
	m.mu.Lock()
	m.killed = true
	m.mu.Unlock()
	m.cluster.turns.wake()
	return nil
}

// Close closes the client. A killed client has ended already.
func (m *module) Close(ctx context.Context) error {
	if m.isDead() {
		return nil
	}
	err := m.conn.Close(ctx)
	if err == nil {
		select {
		case <-m.gone:
			return nil
		case <-ctx.Done():
			err = fmt.Errorf("it has closed its output and does not end: %w", context.Cause(ctx))
		}
	}
	return errors.Join(fmt.Errorf("close %s: %w; it was killed", m.name, err), m.end())
}

// end ends it in any state.
func (m *module) end() error {
	err := m.Kill(context.Background())
	<-m.gone
	return err
}

// shiftClock shifts the wall clock, and sets the drift of both clocks.
func (m *module) shiftClock(by time.Duration, drift float64) {
	m.clock.Shift(by, drift)
	m.mu.Lock()
	m.machine.SetRate(int64(math.Round(drift * float64(time.Millisecond))))
	m.mu.Unlock()
	m.wake()
}

// gained returns how far its steady clock is ahead.
func (m *module) gained() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.machine.Gained()
}

// stdin is the writing end of its standard input.
type stdin struct{ module *module }

func (s stdin) Write(b []byte) (int, error) {
	m := s.module
	m.mu.Lock()
	m.in = append(m.in, b...)
	m.mu.Unlock()
	m.wake()
	return len(b), nil
}

func (s stdin) Close() error {
	m := s.module
	m.mu.Lock()
	m.inEnded = true
	m.mu.Unlock()
	m.wake()
	return nil
}
