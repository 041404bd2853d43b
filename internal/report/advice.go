package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Writable returns an error if a folder cannot be made or written to. It makes nothing: it tries the nearest folder that
// exists.
func Writable(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		// A file system such as /proc returns the same error for a new file in a folder that exists.
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		temp, err := os.CreateTemp(at, ".lockbench-*.tmp")
		if err == nil {
			err = errors.Join(temp.Close(), os.Remove(temp.Name()))
		}
		if err != nil {
			return advise("create results folder", at, err)
		}
		return nil
	}
}

// advise adds the path and a remedy to an error.
func advise(what, path string, err error) error {
	var next string
	switch {
	case errors.Is(err, syscall.ENOSPC):
		next = "the disk is full: free some space or choose another folder with --out DIR"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		next = "permission denied: choose another folder with --out DIR"
	case errors.Is(err, fs.ErrNotExist):
		next = "check the path"
	case errors.Is(err, syscall.ENOTDIR):
		next = "a file is in the place of a folder: move it away or choose another folder with --out DIR"
	default:
		return fmt.Errorf("%s %s: %w", what, path, err)
	}
	// Most of these errors already have the path.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) && pathErr.Path == path {
		err = pathErr.Err
	}
	return fmt.Errorf("%s %s: %w; %s", what, path, err, next)
}
