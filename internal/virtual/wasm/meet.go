package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
)

// meetLimit is how long, in real time, a program may compute before its first line.
const meetLimit = time.Minute

// FirstLine runs a program alone until it has written a line, and returns the line.
func (m *Module) FirstLine(ctx context.Context, p Program) (string, error) {
	return m.firstLineWithin(ctx, meetLimit, p)
}

func (m *Module) firstLineWithin(ctx context.Context, limit time.Duration, p Program) (string, error) {
	// A garbage collection would wait for a program that computes, and could not be given up. So none starts
	// while the program runs, and never again if it had to be abandoned.
	uncollected.begin()
	type answer struct {
		line string
		err  error
	}
	said := make(chan answer, 1)
	go func() {
		line, err := m.firstLine(p)
		said <- answer{line, err}
	}()
	select {
	case a := <-said:
		uncollected.end()
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-time.After(limit):
		// It cannot be ended, only abandoned.
		return "", fmt.Errorf("it computed for %v and wrote nothing", limit)
	}
}

// uncollected disables garbage collection while it is in use.
var uncollected noCollection

type noCollection struct {
	mu      sync.Mutex
	wanted  int
	percent int // what it was before
}

func (c *noCollection) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wanted++; c.wanted == 1 {
		c.percent = debug.SetGCPercent(-1)
		// A running collection has marked everything by now, but has not ended; only a caller that stops the world
		// waits for that.
		runtime.ReadMemStats(new(runtime.MemStats))
	}
}

func (c *noCollection) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wanted--; c.wanted == 0 {
		debug.SetGCPercent(c.percent)
	}
}

// stepsMax bounds how often a program may wait before its first line.
const stepsMax = 100_000

func (m *Module) firstLine(p Program) (string, error) {
	alone := &alone{now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	var log []string
	p.Output = func(b []byte) { out.Write(b) }
	p.Log = func(line string) { log = append(log, line) }
	v := m.Start(alone, p)
	defer v.Kill()
	for range stepsMax {
		lives := v.Run()
		if line, _, ok := strings.Cut(out.String(), "\n"); ok {
			return line, nil
		}
		if !lives {
			return "", fmt.Errorf("it ended without a word: %w; %s", errors.Join(errors.New("end of the program"), v.Err()), lastOf(log))
		}
		at, ok := v.Deadline()
		if !ok {
			return "", fmt.Errorf("it wrote nothing, and waits to be told something; %s", lastOf(log))
		}
		if at.After(alone.now) {
			alone.now = at
		}
	}
	return "", fmt.Errorf("it waited %d times and wrote nothing; %s", stepsMax, lastOf(log))
}

func lastOf(log []string) string {
	if len(log) == 0 {
		return "its standard error is empty"
	}
	return "on its standard error: " + strings.Join(log[max(0, len(log)-20):], "\n")
}

// alone is an environment in which only time passes.
type alone struct{ now time.Time }

func (a *alone) Now() time.Time     { return a.now }
func (a *alone) Wall() time.Time    { return a.now }
func (a *alone) Dial(string) Socket { return nowhere{} }

// nowhere is a connection that is never accepted.
type nowhere struct{}

func (nowhere) Read([]byte) (int, error)  { return 0, syscall.ECONNREFUSED }
func (nowhere) Write([]byte) (int, error) { return 0, syscall.ECONNREFUSED }
func (nowhere) Readable() bool            { return true }
func (nowhere) Writable() bool            { return true }
func (nowhere) Close()                    {}
