package main

import (
	"errors"
	"fmt"
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
	failed atomic.Pointer[error] // an error of another kind, such as a full disk
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
	if err != nil {
		s.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// lost returns an error if a reader does not get all of the output.
func (s *screen) lost() error {
	if err := s.failed.Load(); err != nil {
		return fmt.Errorf("the output is incomplete: %w", *err)
	}
	return nil
}

// Fd is the file descriptor, which tells whether the screen is a terminal and how wide it is.
func (s *screen) Fd() uintptr { return s.file.Fd() }

// surviveClosedScreens makes a write to a closed standard output or error return an error. By default it ends the process.
// Child processes keep the default, which a signal that is ignored would not give them.
func surviveClosedScreens() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
