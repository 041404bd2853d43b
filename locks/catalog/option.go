package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/locks"
)

// Option is a setting of a lock, given as name/option=value.
type Option struct {
	Name, About, Default string

	// takes reports whether a text is a value, and want describes the values. The default is a value too, also if it is a
	// word such as auto.
	takes func(text string) bool
	want  string
	// conform is the value with which the conformance suite opens the lock, if not the default: a renewal short enough to
	// watch, and long enough for a busy machine; or patience with servers that serve a thousand clients at once.
	conform string
	// isLease marks the length of the lease of requests without a ttl.
	isLease bool
	// words are the values of an option that is one of some words, the default first.
	words []string
	// onlyWaits are the values with which the lock cannot try once.
	onlyWaits []string
}

// door is the option for the call of a library by which a client acquires the lock, of which the first one is the default. The
// calls in onlyWaits wait until they are granted.
func door(about string, onlyWaits []string, calls ...string) Option {
	o := word("call", about, calls...)
	o.onlyWaits = onlyWaits
	return o
}

// ownLease marks the option for the lease of requests without a ttl.
func ownLease(o Option) Option {
	o.isLease = true
	return o
}

// conforming sets the value for the conformance suite.
func conforming(with string, o Option) Option {
	o.conform = with
	return o
}

// word is one of some words, of which the first one is the default.
func word(name, about string, words ...string) Option {
	last := len(words) - 1
	return Option{
		Name: name, About: about, Default: words[0], words: words, want: strings.Join(words[:last], ", ") + " or " + words[last],
		takes: func(text string) bool { return slices.Contains(words, text) },
	}
}

// onOff is on or off.
func onOff(name, about, standard string) Option {
	if standard == "on" {
		return word(name, about, "on", "off")
	}
	return word(name, about, "off", "on")
}

// count is a whole number.
func count(name, about, standard string, least, most int) Option {
	return Option{
		Name: name, About: about, Default: standard, want: fmt.Sprintf("a whole number from %d to %d", least, most),
		takes: func(text string) bool {
			n, err := strconv.Atoi(text)
			return err == nil && least <= n && n <= most
		},
	}
}

// share is a number between 0 and 1.
func share(name, about, standard string) Option {
	return Option{
		Name: name, About: about, Default: standard, want: "a share between 0 and 1, such as 0.01",
		takes: func(text string) bool {
			x, err := strconv.ParseFloat(text, 64)
			return err == nil && x > 0 && x < 1
		},
	}
}

// durationMax is the longest time of an option. Sums of longer times overflow.
const durationMax = 24 * time.Hour

// lasting is a duration.
func lasting(name, about, standard string, least time.Duration) Option {
	want := fmt.Sprintf("a duration such as 500ms or 5s, from %v to %v", least, durationMax)
	if _, err := time.ParseDuration(standard); err != nil {
		want += ", or " + standard
	}
	return Option{
		Name: name, About: about, Default: standard, want: want,
		takes: func(text string) bool {
			d, err := time.ParseDuration(text)
			return err == nil && least <= d && d <= durationMax
		},
	}
}

// simpleDuration is a duration that guests in any language can read.
var simpleDuration = regexp.MustCompile(`^[0-9]{1,8}(ms|s|m)$`)

// simple is a duration for a guest in another language, of whole milliseconds.
func simple(name, about, standard string, least time.Duration) Option {
	o := lasting(name, about, standard, least)
	inRange := o.takes
	o.takes = func(text string) bool { return simpleDuration.MatchString(text) && inRange(text) }
	return o
}

// values are the values of all options of a lock.
type values map[string]string

func (v values) number(name string) int {
	n, _ := strconv.Atoi(v[name])
	return n
}

func (v values) share(name string) float64 {
	x, _ := strconv.ParseFloat(v[name], 64)
	return x
}

// duration returns 0 for a word such as auto, and for an option that the lock does not have.
func (v values) duration(name string) time.Duration {
	d, _ := time.ParseDuration(v[name])
	return d
}

// without opens a lock without options.
func without(open func() locks.Opener) func(values) locks.Opener {
	return func(values) locks.Opener { return open() }
}
