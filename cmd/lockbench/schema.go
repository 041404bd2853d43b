package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"lockbench/scenarios"
)

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print a JSON schema of scenario files, for editors",
		Long: `schema prints a JSON schema (draft 2020-12) of scenario files. Editors complete keys
and names with it, show what they mean and mark what is wrong. The comment

  # yaml-language-server: $schema=./scenario.schema.json

in the first line of a scenario names it to the YAML language server.`,
		Example: "  lockbench schema > scenario.schema.json",
		Args:    nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			e := json.NewEncoder(c.OutOrStdout())
			e.SetEscapeHTML(false)
			e.SetIndent("", " ")
			return e.Encode(scenarios.Schema(scenarios.AllCatalogs()))
		},
	}
}
