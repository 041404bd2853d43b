package scenarios

import (
	"fmt"
	"time"

	"lockbench/nemesis"
)

// known is a small world of names, like that of the catalogs.
func known() Known {
	lock := func(family string, options ...string) LockInfo { return LockInfo{Family: family, Options: options} }
	k := Known{
		Locks: map[string]LockInfo{
			"no-lock": lock("control"), "in-process": lock("control"), "flock": lock("control"),
			"setnx-expire": lock("single-store"), "set-del": lock("single-store"), "get-del": lock("single-store"),
			"getset-time": lock("single-store"), "set-nx": lock("single-store"), "set-nx-fenced": lock("single-store"),
			"redlock": lock(Majority, "nodes", "drift", "validity", "node-timeout"),
		},
		Faults: map[string]FaultInfo{
			"kill":    {Options: []string{"data", "early"}},
			"pause":   {},
			"isolate": {Options: []string{"with", "way"}, RoleOptions: []string{"with"}},
			"lag":     {Target: Link, Options: []string{"by"}, Check: checkLag},
			"cut":     {Target: Link},
		},
		Roles:     []string{"master", "replicas", "a replica", "minority", "majority", "holder", "clients", "half the clients"},
		Events:    nemesis.Events,
		Workloads: map[string][]string{"counter": nil, "queue": {"depth"}},
		Checkers:  []string{"harness", "exclusion", "fencing", "resource", "liveness"},
		Classes:   []string{"stale-write", "overstay", "double-grant"},
	}
	r := k.Locks["redlock"]
	r.Check = func(options map[string]string) error {
		if v := options["validity"]; v != "" && v != "on" && v != "off" {
			return fmt.Errorf("option validity of redlock: %q is neither on nor off", v)
		}
		return nil
	}
	k.Locks["redlock"] = r
	return k
}

// knownToEmbedded is that world and all that the scenarios which come along name.
func knownToEmbedded() Known {
	k := known()
	for _, name := range []string{"redisson", "redisson-fair", "redisson-rw", "redisson-fenced", "redisson-spin", "redisson-wait"} {
		k.Locks[name] = LockInfo{Family: "single-store", Options: []string{"watchdog", "renewal", "notify"}}
	}
	k.Locks["get-del"] = LockInfo{Family: "single-store", Options: []string{"answer-timeout"}}
	for _, name := range []string{"redisson-multi", "redisson-redlock"} {
		k.Locks[name] = LockInfo{Family: Majority}
	}
	for _, name := range []string{"reentrant", "readers-writers", "fair", "many-keys", "watchdog", "handoff"} {
		k.Workloads[name] = nil
	}
	k.Roles = append(k.Roles, "nearest replica")
	k.Checkers = append(k.Checkers, "lease", "linearizable", "results")
	k.Roles = nil
	for _, r := range nemesis.Roles {
		k.Roles = append(k.Roles, r.Name)
	}
	for _, f := range nemesis.All() {
		info := FaultInfo{Options: f.Options, RoleOptions: f.RoleOptions, Check: func(s nemesis.Step) error {
			_, err := f.New(s)
			return err
		}}
		if f.Link {
			info.Target = Link
		}
		k.Faults[f.Name] = info
	}
	return k
}

func checkLag(s nemesis.Step) error {
	if _, err := time.ParseDuration(s.Options["by"]); err != nil {
		return fmt.Errorf("by: %q is no duration above zero, such as 60s", s.Options["by"])
	}
	return nil
}
