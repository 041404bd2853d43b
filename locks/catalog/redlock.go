package catalog

import (
	"strconv"
	"time"

	"lockbench/locks"
	"lockbench/locks/redlock"
)

var redlockOptions = []Option{
	{Name: "nodes", About: "how many independent masters there are", Default: "5"},
	{Name: "drift", About: "share of the ttl allowed for clocks that part, 2ms on top; off: none at all", Default: "0.01"},
	{Name: "validity", About: "refuse a majority that took longer than the lease; off: believe it, and for the whole ttl", Default: "on"},
	{Name: "node-timeout", About: "limit for one node's answer; auto: a twentieth of the ttl, 5ms to 100ms", Default: "auto", Conform: "2s"},
}

// newRedlock reads the options of redlock. Without nodes the lock takes as many as
// the store has.
func newRedlock(options map[string]string) (locks.Opener, error) {
	const lock = "redlock"
	if err := checkNames(lock, redlockOptions, options); err != nil {
		return nil, err
	}
	var o redlock.Options
	if v, ok := options["nodes"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return nil, badValue(lock, "nodes", v, "a whole number from 1")
		}
		o.Nodes = n
	}
	if v, ok := options["drift"]; ok {
		f, err := strconv.ParseFloat(v, 64)
		switch {
		case v == "off":
			o.NoDrift = true
		case err != nil || !(f > 0 && f < 1):
			return nil, badValue(lock, "drift", v, "a share between 0 and 1, such as 0.01, or off")
		default:
			o.Drift = f
		}
	}
	if v, ok := options["validity"]; ok {
		if v != "on" && v != "off" {
			return nil, badValue(lock, "validity", v, "on or off")
		}
		o.NoValidity = v == "off"
	}
	if v, ok := options["node-timeout"]; ok && v != "auto" {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return nil, badValue(lock, "node-timeout", v, "a duration such as 50ms, or auto")
		}
		if d > durationMax {
			return nil, tooLong(lock, "node-timeout", v)
		}
		o.NodeTimeout = d
	}
	return redlock.New(o), nil
}
