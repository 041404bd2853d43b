package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandSections has a section for each command, made from its help and its flags.
func commandSections() string {
	var b strings.Builder
	root := newRoot()
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "## %s\n\n", strings.TrimSuffix(group.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == group.ID && c.IsAvailableCommand() {
				fmt.Fprintf(&b, "### %s\n\n%s.\n\n```\n%s\n```\n\n", c.Name(), c.Short, strings.TrimSpace(c.UseLine()+"\n\n"+c.Long))
				fmt.Fprintf(&b, "```sh\n%s\n```\n\n%s", unindented(c.Example), flagTable(c))
			}
		}
	}
	return b.String()
}

// flagTable has a row for each flag of a command.
func flagTable(c *cobra.Command) string {
	var b strings.Builder
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + strings.TrimSuffix(value, "Array"))
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "false" && f.DefValue != "[]" {
			usage += " (default `" + f.DefValue + "`)"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.ReplaceAll(usage, "|", "\\|"))
	})
	if b.Len() == 0 {
		return ""
	}
	return "| flag | meaning |\n| --- | --- |\n" + b.String() + "\n"
}

// unindented removes the indent that cobra wants in examples.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

// TestCommandsPage compares docs/reference/commands.md with the commands. With -update it writes the page.
func TestCommandsPage(t *testing.T) {
	checkBlock(t, "docs/reference/commands.md", "commands", commandSections())
}
