package main

import (
	"cmp"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/scenarios"
)

// flagError converts an error of a flag to wrong usage, with the nearest flag.
func flagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return usagef("--%s: %q is not valid: %s", invalid.GetFlag().Name, invalid.GetValue(), invalid.GetFlag().Usage)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usagef("%v; see lockbench %s --help", err, c.Name())
	}
	word := "--" + unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		word = word[1:]
	}
	return usagef("%s has no flag %s; %s", c.Name(), word, didYouMean(word, flagNames(c)))
}

// flagNames returns the flags of a command with dashes.
func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}

// parsed parses a flag whose value is written as in a scenario. It returns nil if the flag was not given.
func parsed[T any](c *cobra.Command, name string, parse func(text string) (T, error)) (*T, error) {
	f := c.Flags().Lookup(name)
	if !f.Changed {
		return nil, nil
	}
	value, err := parse(f.Value.String())
	if err != nil {
		return nil, usagef("--%s: %v", name, err)
	}
	return &value, nil
}

// inRange rejects a number or duration that was given and is out of range.
func inRange[T cmp.Ordered](c *cobra.Command, name string, value, least, most T) error {
	switch {
	case c.Flags().Changed(name) && value < least:
		return usagef("--%s wants at least %v, not %v", name, least, value)
	case value > most:
		return usagef("--%s wants at most %v, not %v", name, most, value)
	}
	return nil
}

// writableName rejects a results folder whose name the files of a run, which are JSON, cannot have.
func writableName(out string) error {
	if !utf8.ValidString(out) {
		return usagef("--out: %q is not UTF-8; choose another folder", out)
	}
	return nil
}

// notEmpty rejects empty flags, which are usually unset variables in a script: --locks "$LOCKS" would run all locks.
func notEmpty(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && strings.TrimSpace(f.Value.String()) == "" {
			err = usagef("--%s is empty: %s; leave the flag out for the default", f.Name, f.Usage)
		}
	})
	return err
}

// addAsked adds the flags that replace the expectations of scenarios.
func addAsked(c *cobra.Command, asked *scenarios.Asked) {
	fl := c.Flags()
	fl.StringArrayVar(&asked.Expect, "expect", nil, "[[SCENARIO/]LOCK=]VERDICT [CLASS], or {...} as in a scenario: expect this instead of what the scenario says; may be repeated")
	fl.StringArrayVar(&asked.Like, "like", nil, "LOCK=OTHER: expect of a lock what each scenario expects of the other, as in mine=set-nx; may be repeated")
}
