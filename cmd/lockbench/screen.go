package main

import (
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// screen is standard output or standard error. If its reader is gone, it discards the rest and reports no error, because a
// run has faults to undo and results to write after the user closed the terminal or ended the pager.
type screen struct {
	file   *os.File
	closed atomic.Bool
}

func (s *screen) Write(p []byte) (int, error) {
	if s.closed.Load() {
		return len(p), nil
	}
	n, err := s.file.Write(p)
	// A pipe without a reader returns EPIPE, a terminal that was closed EIO.
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO) {
		s.closed.Store(true)
		return len(p), nil
	}
	return n, err
}

// Fd is the file descriptor, which tells whether the screen is a terminal and how wide it is.
func (s *screen) Fd() uintptr { return s.file.Fd() }

// surviveClosedScreens makes a write to a closed standard output or error return an error. By default it ends the process.
// Child processes keep the default, which a signal that is ignored would not give them.
func surviveClosedScreens() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
