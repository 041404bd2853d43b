package main

import "github.com/spf13/cobra"

// commandNames returns the commands that users type.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, sub := range root.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}
