package claim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir is a temporary directory of this process. If the process is killed, the next one that makes a Dir removes it.
type Dir struct {
	Path string
	// Owner is the file in it that this process has taken. A process that inherits it keeps the directory as well.
	Owner *os.File
}

const (
	dirPrefix = "lockbench-"
	ownerFile = "lockbench.owner"
)

// NewDir makes a directory for a purpose, such as "replay", which is a part of its name. It also removes
// all directories that killed processes have left.
func NewDir(purpose string) (*Dir, error) {
	sweep()
	for {
		path, err := os.MkdirTemp("", dirPrefix+purpose+"-")
		if err != nil {
			return nil, fmt.Errorf("make a temporary directory: %w", err)
		}
		owner, err := Take(filepath.Join(path, ownerFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process swept it before it was taken
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("claim a temporary directory: %w", err), os.RemoveAll(path))
		}
		return &Dir{path, owner}, nil
	}
}

// Remove removes the directory and everything in it.
func (d *Dir) Remove() error { return errors.Join(os.RemoveAll(d.Path), d.Owner.Close()) }

// sweep removes the directories of killed processes. It ignores those that it may not remove.
func sweep() {
	owners, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*", ownerFile))
	for _, owner := range owners {
		Clear(owner, func() {
			// Children of the killed process may live a moment longer. Under another name they add no file.
			dir := filepath.Dir(owner)
			swept := filepath.Join(os.TempDir(), dirPrefix+"swept-"+strings.TrimPrefix(filepath.Base(dir), dirPrefix))
			if os.Rename(dir, swept) == nil {
				unmount(swept)
				_ = os.RemoveAll(swept)
			}
		})
	}
}
