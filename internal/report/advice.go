package report

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// advise names the file and says what a person can do about it.
func advise(what, path string, err error) error {
	var next string
	switch {
	case errors.Is(err, syscall.ENOSPC):
		next = "the disk is full: free some space or give another place with --out DIR"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		next = "no permission there: give a place of your own with --out DIR"
	case errors.Is(err, fs.ErrNotExist):
		next = "check the path"
	case errors.Is(err, syscall.ENOTDIR):
		next = "a file stands where a folder is needed: move it away or give another place with --out DIR"
	default:
		return fmt.Errorf("%s %s: %w", what, path, err)
	}
	// The path is in most of these errors already; once is enough.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) && pathErr.Path == path {
		err = pathErr.Err
	}
	return fmt.Errorf("%s %s: %w; %s", what, path, err, next)
}
