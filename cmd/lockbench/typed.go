package main

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/report"
	"lockbench/internal/shellword"
)

// typedName is what a person types to call this program once more, from the name that
// it was called by: as it was typed, or the bare name if PATH leads to the same file.
func typedName(arg string) string {
	if base := filepath.Base(arg); filepath.IsAbs(arg) {
		if found, err := exec.LookPath(base); err == nil && found == arg {
			return shellword.Quote(base)
		}
	}
	return shellword.Quote(cmp.Or(arg, "lockbench"))
}

// nameAsTyped lets the program call itself as a person typed it, in all help and
// in what [asTyped] is asked about. What is written into files keeps the name lockbench:
// they travel to other machines.
func nameAsTyped(root *cobra.Command, arg string) {
	if root.Annotations == nil {
		root.Annotations = map[string]string{}
	}
	root.Annotations[cobra.CommandDisplayNameAnnotation] = typedName(arg)
	for _, c := range append(root.Commands(), root) {
		c.Long, c.Example = asTyped(root, c.Long), asTyped(root, c.Example)
		c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = asTyped(root, f.Usage) })
	}
}

// asTyped is a text for the screen with the commands in it as they can be typed here.
func asTyped(c *cobra.Command, text string) string {
	root := c.Root()
	if root.DisplayName() == root.Name() {
		return text
	}
	// After a sign of a path it is a part of another word: build/lockbench.
	commands := regexp.MustCompile(`(^|[^\w./-])` + root.Name() + ` (` + strings.Join(commandNames(root), "|") + `)\b`)
	return commands.ReplaceAllString(text, "${1}"+strings.ReplaceAll(root.DisplayName(), "$", "$$")+" ${2}")
}

// sayTo writes messages for people, as they may stand on the screen.
func sayTo(c *cobra.Command, w io.Writer) func(line string) {
	return func(line string) { _, _ = fmt.Fprintln(w, report.Printable(asTyped(c, line))) }
}
