package main

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	"lockbench/internal/report"
	"lockbench/internal/shellword"
)

// typedName returns the name by which a user calls this program: the name of this call, or the bare name if PATH leads to
// the same file.
func typedName(arg string) string {
	if base := filepath.Base(arg); filepath.IsAbs(arg) {
		if found, err := exec.LookPath(base); err == nil && found == arg {
			return shellword.Quote(base)
		}
	}
	return shellword.Quote(cmp.Or(arg, "lockbench"))
}

// sayTo returns a function that writes lines.
func sayTo(w io.Writer) func(line string) {
	return func(line string) { _, _ = fmt.Fprintln(w, report.Printable(line)) }
}
