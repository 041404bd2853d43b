package child

import (
	"os"
	"path/filepath"
)

// Beside is the path of a file that was built together with this program and lies beside
// it.
func Beside(name string) (path string, ok bool) {
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
