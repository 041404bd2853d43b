package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
)

// latestRun returns the folder of the newest run for a command without an argument, and prints it. wanted describes the
// argument, for the error.
func latestRun(c *cobra.Command, wanted string) (string, error) {
	link := filepath.Join("results", report.LatestLink)
	if _, err := os.Stat(link); errors.Is(err, fs.ErrNotExist) {
		return "", usagef("%s, and there is no %s here: name one, or make one with `lockbench run SCENARIO`", wanted, link)
	}
	// The link changes if another run ends meanwhile.
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", err
	}
	sayTo(c.ErrOrStderr())(link + " is " + dir)
	return dir, nil
}

// oneOrLatest accepts one argument, or none for the newest run.
func oneOrLatest(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return wants(what)(c, args)
	}
}
