package process

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/service"
)

// Bundled returns the path of a file in the directory of this program, with which it was built.
func Bundled(name string) (path string, ok bool) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", false
	}
	path = filepath.Join(filepath.Dir(self), name)
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// LookIn looks for a program in its usual directories.
func LookIn(e service.Executable) (string, error) {
	for _, pattern := range e.Dirs {
		found, _ := filepath.Glob(filepath.Join(pattern, e.Name))
		slices.SortFunc(found, natural)
		for _, path := range slices.Backward(found) {
			if path, err := exec.LookPath(path); err == nil {
				return path, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

// natural sorts 9 before 15.
func natural(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
