// Package libraries adapts widely used lock libraries to lockbench's contract. The libraries are unchanged and used as
// their documentation shows. An adapter only translates: it adds no retries, limits or clean-up.
//
//	lockbench ── lockbench-more redsync tries=32 ──▶ libraries.Find ──▶ redsync ──▶ go-redis
package libraries

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis/rueidislock"
	"github.com/valkey-io/valkey-go/valkeylock"

	"lockbench/locks"
)

// Library is a lock library with options.
type Library struct {
	locks.Card
	Open func(o Options) (locks.Opener, error)
}

// All returns the libraries, by name.
func All() []Library {
	bounded := locks.Claims{Bounded: true, Waits: true}
	watched := locks.Claims{Renewed: true, Watched: true, Waits: true}
	return append([]Library{
		{locks.Card{Name: "redsync", Family: locks.Majority, Claims: bounded}, openRedsync(goRedisPool)},
		{locks.Card{Name: "redsync-redigo", Family: locks.Majority, Claims: bounded}, openRedsync(redigoPool)},
		{locks.Card{Name: "redsync-rueidis", Family: locks.Majority, Claims: bounded}, openRedsync(newRueidisPool)},
		{locks.Card{Name: "redislock", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Waits: true, Several: true}}, openRedislock},
		{locks.Card{Name: "rueidislock", Family: locks.SingleStore, Claims: watched}, openWatched(rueidislock.ErrNotLocked, newRueidislock)},
		{locks.Card{Name: "valkeylock", Family: locks.SingleStore, Claims: watched}, openWatched(valkeylock.ErrNotLocked, newValkeylock)},
	}, programs()...)
}

// Find returns the library with a name.
func Find(name string) (Library, error) {
	var names []string
	for _, l := range All() {
		if l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	return Library{}, fmt.Errorf("there is no library %q; known are %s", name, strings.Join(names, ", "))
}

// Options are options in the form of a lock's name: tries=3.
type Options struct {
	given map[string]string
	wrong []string
	known []string
}

// ParseOptions parses NAME=VALUE words.
func ParseOptions(words []string) (Options, error) {
	o := Options{given: map[string]string{}}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return o, fmt.Errorf("%q is not an option; options are written NAME=VALUE", w)
		}
		o.given[name] = value
	}
	return o, nil
}

// read returns the parsed value of an option, or its default.
func read[T any](o *Options, name string, usual T, parse func(string) (T, error)) T {
	o.known = append(o.known, name)
	text, given := o.given[name]
	if !given {
		return usual
	}
	v, err := parse(text)
	if err != nil {
		o.wrong = append(o.wrong, fmt.Sprintf("option %s: %q cannot be read", name, text))
		return usual
	}
	return v
}

func (o *Options) number(name string, usual int) int { return read(o, name, usual, strconv.Atoi) }

func (o *Options) share(name string, usual float64) float64 {
	return read(o, name, usual, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

func (o *Options) duration(name string, usual time.Duration) time.Duration {
	return read(o, name, usual, time.ParseDuration)
}

func (o *Options) on(name string, usual bool) bool {
	return read(o, name, usual, func(s string) (bool, error) {
		if s != "on" && s != "off" {
			return false, fmt.Errorf("on or off")
		}
		return s == "on", nil
	})
}

// oneOf returns the value of an option with several allowed words. The first is the default.
func (o *Options) oneOf(name string, usual string, others ...string) string {
	return read(o, name, usual, func(s string) (string, error) {
		if s != usual && !slices.Contains(others, s) {
			return "", fmt.Errorf("%s or %s", usual, strings.Join(others, " or "))
		}
		return s, nil
	})
}

// err returns an error for unknown options and invalid values.
func (o *Options) err() error {
	for _, name := range slices.Sorted(maps.Keys(o.given)) {
		if !slices.Contains(o.known, name) {
			o.wrong = append(o.wrong, fmt.Sprintf("there is no option %s; options: %s", name, strings.Join(o.known, ", ")))
		}
	}
	if len(o.wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(o.wrong, "; "))
	}
	return nil
}
