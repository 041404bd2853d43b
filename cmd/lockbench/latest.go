package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
)

// orLatest returns the arguments of a command, or the folder of the newest run, which it prints, if there are none. wanted
// describes the argument, for the error.
func orLatest(c *cobra.Command, args []string, wanted string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	link := filepath.Join("results", report.LatestLink)
	// The link changes if another run ends meanwhile.
	dir, err := filepath.EvalSymlinks(link)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("%s wants %s, and there is no %s here: name one, or make one with `lockbench run SCENARIO`", c.Name(), wanted, link)
	}
	if err != nil {
		return nil, err
	}
	sayTo(c.ErrOrStderr())(link + " is " + dir)
	return []string{dir}, nil
}
