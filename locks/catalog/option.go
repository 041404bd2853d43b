package catalog

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/locks"
)

// Option is a setting of a lock, given as name/option=value.
type Option struct{ Name, About, Default string }

// options declares the options of one lock and keeps their values.
type options struct {
	*flag.FlagSet
	// conform are the values with which the conformance suite opens the lock, if not the defaults: a
	// renewal short enough to watch, and long enough for a busy machine; or patience with servers
	// that serve a thousand clients at once.
	conform map[string]string
}

func newOptions(lock string) options {
	f := flag.NewFlagSet(lock, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return options{f, map[string]string{}}
}

// value is the value of an option.
type value struct {
	text, standard string
	read           func(text string) bool // sets the variable; false: the text is not a value
	want           string                 // what read takes
}

func (v *value) String() string { return v.text }

// Set reads a value. The default is a value too, also if it is a word such as auto.
func (v *value) Set(text string) error {
	if text != v.standard && !v.read(text) {
		return fmt.Errorf("%q is not %s", text, v.want)
	}
	v.text = text
	return nil
}

// declare adds an option. A default that read does not take leaves the variable as it is.
func (o options) declare(name, standard, about, want string, read func(text string) bool) {
	read(standard)
	o.Var(&value{standard, standard, read, want}, name, about)
}

// word adds an option that is one of some words, of which the first one is the default.
func (o options) word(to *string, name, about string, words ...string) {
	last := len(words) - 1
	o.declare(name, words[0], about, strings.Join(words[:last], ", ")+" or "+words[last], func(text string) bool {
		*to = text
		return slices.Contains(words, text)
	})
}

// choice adds an option with two words, the default and the one that sets the variable.
func (o options) choice(to *bool, name, about, standard, other string) {
	o.declare(name, standard, about, standard+" or "+other, func(text string) bool {
		*to = text == other
		return *to || text == standard
	})
}

// number adds an option that is a whole number.
func (o options) number(to *int, name, about, standard string, least, most int) {
	o.declare(name, standard, about, fmt.Sprintf("a whole number from %d to %d", least, most), func(text string) (ok bool) {
		var err error
		*to, err = strconv.Atoi(text)
		return err == nil && least <= *to && *to <= most
	})
}

// share adds an option that is a number between 0 and 1.
func (o options) share(to *float64, name, about, standard string) {
	o.declare(name, standard, about, "a share between 0 and 1, such as 0.01", func(text string) bool {
		var err error
		*to, err = strconv.ParseFloat(text, 64)
		return err == nil && *to > 0 && *to < 1
	})
}

// durationMax is the longest time of an option. Sums of longer times overflow.
const durationMax = 24 * time.Hour

// duration adds an option that is a duration.
func (o options) duration(to *time.Duration, name, about, standard string, least time.Duration) {
	o.declare(name, standard, about, wantDuration(standard, least), func(text string) bool {
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > durationMax {
			return false
		}
		*to = d
		return true
	})
}

// wantDuration describes the values of a duration, the default too if that is a word.
func wantDuration(standard string, least time.Duration) string {
	want := fmt.Sprintf("a duration such as 500ms or 5s, from %v to %v", least, durationMax)
	if _, err := time.ParseDuration(standard); err != nil {
		want += ", or " + standard
	}
	return want
}

// without declares no options.
func without(open func() locks.Opener) func(options) func() locks.Opener {
	return func(options) func() locks.Opener { return open }
}

// library is an option of a library, whose value the catalog checks and another program reads.
type library func(options) (name string)

// served declares the options of a library. Another program opens it.
func served(list ...library) func(options) func() locks.Opener {
	return func(o options) func() locks.Opener {
		for _, declare := range list {
			declare(o)
		}
		return nil
	}
}

// conforming is an option with the value that the conformance suite takes.
func conforming(with string, declare library) library {
	return func(o options) string {
		name := declare(o)
		o.conform[name] = with
		return name
	}
}

func word(name, about string, words ...string) library {
	return func(o options) string { o.word(new(string), name, about, words...); return name }
}

func onOff(name, about, standard string) library {
	if standard == "on" {
		return word(name, about, "on", "off")
	}
	return word(name, about, "off", "on")
}

func count(name, about, standard string, least, most int) library {
	return func(o options) string { o.number(new(int), name, about, standard, least, most); return name }
}

func share(name, about, standard string) library {
	return func(o options) string { o.share(new(float64), name, about, standard); return name }
}

func lasting(name, about, standard string) library {
	return func(o options) string { o.duration(new(time.Duration), name, about, standard, 0); return name }
}

// simpleDuration is a duration that guests in any language can read.
var simpleDuration = regexp.MustCompile(`^[0-9]{1,8}(ms|s|m)$`)

// simple is a duration for a guest in another language, of whole milliseconds.
func simple(name, about, standard string, least time.Duration) library {
	return func(o options) string {
		o.declare(name, standard, about, wantDuration(standard, least), func(text string) bool {
			d, err := time.ParseDuration(text)
			return err == nil && simpleDuration.MatchString(text) && least <= d && d <= durationMax
		})
		return name
	}
}
