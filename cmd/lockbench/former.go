package main

import (
	"strings"

	"lockbench/internal/shellword"
)

// former maps commands of earlier versions to their replacements. ARGS stands for the arguments and flags of the old
// command.
var former = map[string]string{
	"acceptance": "lockbench matrix --file campaigns/acceptance.yaml ARGS, in a clone of the repository",
	"campaign":   "lockbench matrix --file ARGS",
	"clean":      "rm -r results/SCENARIO/RUN",
	"image":      "lockbench doctor --images SERVICE",
	"nightly":    "lockbench compare ARGS",
	"plan":       "lockbench run ARGS --dry-run",
	"prove":      "make mutants SEEDS=20, in a clone of the repository",
	"schema":     "scenarios/schema.json is the schema",
	"show":       "lockbench list KIND NAME",
	"try":        "lockbench run steady --fault 'FAULT: TARGET'",
	"version":    "lockbench --version",
}

// formerCommand returns an error with the replacement if the arguments begin with a command of an earlier version.
func formerCommand(args []string) error {
	if len(args) == 0 {
		return nil
	}
	today, ok := former[args[0]]
	if !ok {
		return nil
	}
	given := make([]string, len(args)-1)
	for i, arg := range args[1:] {
		given[i] = shellword.Quote(arg)
	}
	today = strings.TrimSpace(strings.ReplaceAll(today, "ARGS", strings.Join(given, " ")))
	return usagef("the command %s was replaced; use: %s", args[0], today)
}
