package main

import "github.com/spf13/cobra"

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Say what a command does and which flags it has",
		Example: "  lockbench help run",
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return commandNames(c.Root()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Root().Help()
			}
			of, _, err := c.Root().Find(args[:1])
			if err != nil || of == c.Root() {
				return unknownCommand(c.Root(), args[0])
			}
			if len(args) > 1 {
				return usagef("%s has no commands of its own, and %q would be one", args[0], args[1])
			}
			return of.Help()
		},
	}
}

// commandNames are those that people type.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, sub := range root.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}
