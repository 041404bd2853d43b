// Package regular opens files with names from the user or in folders that the user may change. Opening
// or reading a named pipe or a device may take forever.
package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// ErrNot means that a file is not regular.
var ErrNot = errors.New("it is a pipe, a socket or a device, and not a regular file")

// Open opens a file for reading. It refuses named pipes, sockets and devices, except the null
// device and what the process has open already: /dev/stdin, and the /dev/fd/63 of a shell's <(...).
// It opens a directory, which reading refuses.
func Open(name string) (*os.File, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	return os.Open(name)
}

// Is reports whether there is a regular file with this name.
func Is(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// ReadFile reads a file that Open opens.
func ReadFile(name string) ([]byte, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// ReadUpTo reads the first bytes of a file that Open opens.
func ReadUpTo(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func check(name string) error {
	if name == os.DevNull || name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/") {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil // os.Open returns this error
	}
	if info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: ErrNot}
}
