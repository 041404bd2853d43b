//go:build !unix

package report

import (
	"os"
	"time"
)

// Claim does nothing on this system; see [Claimed].
func (b *Bundle) Claim() (release func(), err error) { return func() {}, nil }

// Claimed reports whether the folder was modified in the last minutes.
func Claimed(dir *os.File) bool {
	info, err := dir.Stat()
	return err == nil && time.Since(info.ModTime()) < 10*time.Minute
}
