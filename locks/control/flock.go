//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// flock is the lock of one machine: flock(2) on a file for each name, in the directory that all clients share. The kernel
// frees a lock when the holder's process ends in any way, so a lease has no end of its own.
type flock struct {
	dir string

	mu     sync.Mutex
	closed bool
	held   map[*flockLease]struct{}
}

var _ locks.Locker = (*flock)(nil)

// OpenFlock is the opener of flock in the Dir of the client's store.
func OpenFlock(_ context.Context, c locks.Client) (locks.Locker, error) {
	if c.Store.Dir == "" {
		return nil, fmt.Errorf("flock: the store names no directory that the clients share (Store.Dir)")
	}
	return &flock{dir: c.Store.Dir, held: make(map[*flockLease]struct{})}, nil
}

// Acquire opens the name's file and locks it without waiting. It opens the file each time, because flock belongs to the open
// file, and a second lock on the same one would succeed.
func (l *flock) Acquire(_ context.Context, r locks.Request) (locks.Lease, error) {
	key, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("flock: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("flock: acquire %q: %w", key, plain.ErrClosed)
	}
	file, err := os.OpenFile(filepath.Join(l.dir, fileName(key)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("flock: open the file of %q: %w", key, err)
	}
	if err := lockNow(file); err != nil {
		file.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, locks.ErrTaken
		}
		return nil, fmt.Errorf("flock: lock the file of %q: %w", key, err)
	}
	lease := &flockLease{handle: l, file: file}
	l.held[lease] = struct{}{}
	return lease, nil
}

// Close releases the client's locks, as the end of its process would.
func (l *flock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var errs []error
	for lease := range l.held {
		errs = append(errs, lease.file.Close())
	}
	clear(l.held)
	return errors.Join(errs...)
}

type flockLease struct {
	handle *flock
	file   *os.File
}

// Release closes the file, which frees the lock. It does not remove the file: otherwise A could open it, B release and remove
// it, C create and lock a new one of the same name, and A lock the removed one. A and C would both hold the lock.
func (l *flockLease) Release(context.Context) error {
	l.handle.mu.Lock()
	defer l.handle.mu.Unlock()
	if _, ok := l.handle.held[l]; !ok {
		return locks.ErrNotHeld
	}
	delete(l.handle.held, l)
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("flock: close the file: %w", err)
	}
	return nil
}

// lockNow locks a file or fails with EWOULDBLOCK. Go closes the file on exec, so a child process cannot keep the lock.
func lockNow(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR { // a signal came before the lock was tried
			return err
		}
	}
}

// fileName returns a file name for any name. File systems differ in slashes, dots, length and case.
func fileName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "flock-" + hex.EncodeToString(sum[:])
}
