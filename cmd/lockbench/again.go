package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/shellword"
)

// put is a flag that is part of the command line that repeats a command, even if the user did not give it.
type put struct{ flag, value string }

// again returns the command line that repeats a command: its arguments, the flags in, such as the drawn seed, and every
// other flag that was given.
func again(c *cobra.Command, args []string, in ...put) string {
	words := append([]string{"lockbench", c.Name()}, args...)
	for _, p := range in {
		words = append(words, "--"+p.flag, p.value)
	}
	c.Flags().Visit(func(given *pflag.Flag) {
		name := "--" + given.Name
		if given.Name == "json" || slices.ContainsFunc(in, func(p put) bool { return p.flag == given.Name }) {
			return
		}
		switch value := given.Value.(type) {
		case pflag.SliceValue: // may be repeated
			for _, v := range value.GetSlice() {
				words = append(words, name, v)
			}
		default:
			switch {
			case given.Value.Type() != "bool":
				words = append(words, name, value.String())
			case value.String() == "true":
				words = append(words, name)
			}
		}
	})
	for i, word := range words {
		words[i] = shellword.Quote(word)
	}
	return strings.Join(words, " ")
}
