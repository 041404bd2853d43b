package main

import (
	"fmt"
	"strings"
	"time"
)

// settings are the options of users. A zero duration follows from the lease.
type settings struct {
	lease, renew, retry time.Duration
	timeout             time.Duration
	noTimeout           bool
	release             bool
}

// The usual values of client-go's users: 15 s, 10 s and 2 s.
const usualLease = 15 * time.Second

// parse reads options in the form NAME=VALUE. The value default is that of an option that is not given.
func parse(words []string) (settings, error) {
	s := settings{release: true}
	durations := map[string]*time.Duration{"lease": &s.lease, "renew": &s.renew, "retry": &s.retry, "timeout": &s.timeout}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch into := durations[name]; {
		case value == "default":
		case into != nil:
			d, err := time.ParseDuration(value)
			if err != nil || d < 0 {
				return s, fmt.Errorf("option %s: %q is not a duration such as 2s", name, value)
			}
			*into = d
			s.noTimeout = s.noTimeout || name == "timeout" && d == 0
		case name == "release-on-cancel" && (value == "on" || value == "off"):
			s.release = value == "on"
		default:
			return s, fmt.Errorf("%q is not an option; options are lease, renew, retry, timeout and release-on-cancel", w)
		}
	}
	return s, nil
}

// durations are the settings of one elector.
type durations struct{ lease, renew, retry, timeout time.Duration }

// durations returns the settings for a request with a ttl, or without one if ttl is 0. Without options they have the
// proportions of the usual values, and a request may take half of the renew deadline, as in resourcelock.NewFromKubeconfig.
func (s settings) durations(ttl time.Duration) durations {
	d := durations{s.lease, s.renew, s.retry, s.timeout}
	switch {
	case ttl > 0:
		d.lease = ttl
	case d.lease == 0:
		d.lease = usualLease
	}
	if d.renew == 0 {
		d.renew = d.lease * 2 / 3
	}
	if d.retry == 0 {
		d.retry = d.lease * 2 / 15
	}
	if d.timeout == 0 && !s.noTimeout {
		d.timeout = max(d.renew/2, time.Second)
	}
	return d
}
