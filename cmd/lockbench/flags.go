package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/scenarios"
)

// parsedFlag is an optional value that is written as in a scenario.
type parsedFlag[T fmt.Stringer] struct {
	value *T
	kind  string // the type for the help
	parse func(text string) (T, error)
}

var _ pflag.Value = (*parsedFlag[time.Duration])(nil)

func (f *parsedFlag[T]) String() string {
	if f.value == nil {
		return ""
	}
	return (*f.value).String()
}

func (f *parsedFlag[T]) Type() string { return f.kind }

func (f *parsedFlag[T]) Set(text string) error {
	value, err := f.parse(text)
	if err != nil {
		return usageError{err.Error()}
	}
	f.value = &value
	return nil
}

// flagError converts an error of a flag to wrong usage, with the accepted values or the nearest flag.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var absent *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		if today := formerFlag(unknown.GetSpecifiedName()); today != "" {
			return usagef("the flag --%s was replaced; use: %s", unknown.GetSpecifiedName(), today)
		}
		if unknown.GetSpecifiedShortnames() != "" {
			return usagef("%s has no flag -%s; %s", c.Name(), unknown.GetSpecifiedName(), didYouMean("", flagNames(c)))
		}
		return usagef("%s has no flag --%s; %s", c.Name(), unknown.GetSpecifiedName(), didYouMean("--"+unknown.GetSpecifiedName(), flagNames(c)))
	case errors.As(err, &absent):
		return usagef("--%s wants a value: %s", absent.GetFlag().Name, absent.GetFlag().Usage)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		var said usageError
		if errors.As(invalid.Unwrap(), &said) {
			return usagef("--%s: %s", f.Name, said.text)
		}
		return usagef("--%s: %q is not %s: %s", f.Name, invalid.GetValue(), kindOf(f), f.Usage)
	}
	return usagef("%s; see lockbench %s --help", err, c.Name())
}

// flagNames returns the flags of a command with dashes.
func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// kindOf describes the type of a flag.
func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int":
		return "a whole number"
	case "uint64":
		return "a whole number from 0 up"
	case "duration":
		return "a duration such as 30s"
	case "bool":
		return "true or false"
	case "stringToString":
		return "KEY=VALUE"
	}
	return "a " + f.Value.Type()
}

// inRange rejects a number that was given and is less than 1, and one above the most.
func inRange(c *cobra.Command, name string, value, most int) error {
	switch {
	case c.Flags().Changed(name) && value < 1:
		return usagef("--%s wants a number of at least 1, not %d", name, value)
	case value > most:
		return usagef("--%s wants a number of at most %d, not %d", name, most, value)
	}
	return nil
}

// notEmpty rejects empty flags, which are usually unset variables in a script: --locks "$LOCKS" would run all locks.
func notEmpty(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return usagef("--%s is empty: %s; leave the flag out for the default", name, f.Usage)
		}
	}
	return nil
}

// askedFlags are the flags that replace the expectations of scenarios.
type askedFlags struct{ scenarios.Asked }

func (f *askedFlags) addAsked(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.Expect, "expect", nil, "[[SCENARIO/]LOCK=]VERDICT [CLASS], or {...} as in a scenario: expect this instead of what the scenario says; may be repeated")
	fl.StringArrayVar(&f.Like, "like", nil, "LOCK=OTHER: expect of a lock what each scenario expects of the other, as in mine=set-nx; may be repeated")
	fl.StringVar(&f.File, "expectations", "", "a file of such expectations")
}
