package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// shells are those that cobra can write completions for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands, scenarios, locks and flags in a shell",
		Example: `  source <(lockbench completion bash)
  lockbench completion zsh > "${fpath[1]}/_lockbench"
  lockbench completion fish > ~/.config/fish/completions/lockbench.fish`,
		ValidArgs: shells,
		Args: func(c *cobra.Command, args []string) error {
			if err := wants("a shell")(c, args); err != nil {
				return err
			}
			if !slices.Contains(shells, args[0]) {
				return usagef("there is no completion for %q; %s", args[0], didYouMean(args[0], shells))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			switch args[0] {
			case "zsh":
				return c.Root().GenZshCompletion(out)
			case "fish":
				return c.Root().GenFishCompletion(out, true)
			case "powershell":
				return c.Root().GenPowerShellCompletionWithDesc(out)
			}
			return c.Root().GenBashCompletionV2(out, true)
		},
	}
}
