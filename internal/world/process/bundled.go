package process

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/service"
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

// sbin are directories with programs that PATH often lacks.
var sbin = []string{"/usr/sbin", "/sbin", "/usr/local/sbin"}

// Find finds the user's own program in the place of e, or else e itself: next to this program, on PATH, or in
// its usual directories.
func Find(e service.Executable, own string) (string, error) {
	if own != "" && own != e.Name {
		return absolute(exec.LookPath(own))
	}
	if path, ok := Bundled(e.Name); ok && e.NextTo {
		return path, nil
	}
	path, err := exec.LookPath(e.Name)
	if err == nil {
		return absolute(path, nil)
	}
	for _, pattern := range slices.Concat(e.Dirs, sbin) {
		found, _ := filepath.Glob(filepath.Join(pattern, e.Name))
		slices.SortFunc(found, natural)
		for _, path := range slices.Backward(found) {
			if path, err := exec.LookPath(path); err == nil {
				return path, nil
			}
		}
	}
	return "", err
}

func absolute(path string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// natural sorts 9 before 15.
func natural(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
