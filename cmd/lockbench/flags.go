package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/nemesis"
	"lockbench/scenarios"
)

// rangeFlag is a duration or a range of them: 50ms, 5ms..50ms.
type rangeFlag struct{ value *nemesis.Range }

var _ pflag.Value = (*rangeFlag)(nil)

func (f *rangeFlag) String() string {
	if f.value == nil {
		return ""
	}
	if f.value.From == f.value.To {
		return f.value.From.String()
	}
	return f.value.From.String() + ".." + f.value.To.String()
}

func (f *rangeFlag) Type() string { return "duration or A..B" }

func (f *rangeFlag) Set(text string) error {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	a, err := time.ParseDuration(from)
	if err != nil {
		return usagef("%q is not a duration such as 50ms", from)
	}
	b, err := time.ParseDuration(to)
	if err != nil {
		return usagef("%q is not a duration such as 50ms", to)
	}
	if a < 0 || b < a {
		return usagef("%q is not a range: it wants A..B with 0 <= A <= B", text)
	}
	if b > scenarios.DurationMax {
		return usagef("%s is too long: at most %v", to, scenarios.DurationMax)
	}
	f.value = &nemesis.Range{From: a, To: b}
	return nil
}

// durationFlag is an optional duration.
type durationFlag struct{ value *time.Duration }

var _ pflag.Value = (*durationFlag)(nil)

func (f *durationFlag) String() string {
	if f.value == nil {
		return ""
	}
	return f.value.String()
}

func (f *durationFlag) Type() string { return "duration" }

func (f *durationFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return usagef("%q is not a duration such as 2s", text)
	}
	if d < 0 {
		return usagef("%q is negative", text)
	}
	if d > scenarios.DurationMax {
		return usagef("%s is too long: at most %v", text, scenarios.DurationMax)
	}
	f.value = &d
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
