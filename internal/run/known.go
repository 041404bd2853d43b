package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/workloads"
)

// Known is everything that a scenario may name, from the catalogs.
func Known() scenarios.Known {
	k := scenarios.Known{
		Locks:     make(map[string]scenarios.LockInfo),
		Faults:    make(map[string]scenarios.FaultInfo),
		Events:    nemesis.Events,
		Workloads: make(map[string][]string),
	}
	for _, l := range catalog.All() {
		info := scenarios.LockInfo{Family: string(l.Family), Check: func(options map[string]string) error {
			_, err := l.New(options)
			return err
		}}
		for _, o := range l.Options {
			info.Options = append(info.Options, o.Name)
		}
		k.Locks[l.Name] = info
	}
	for _, f := range nemesis.All() {
		info := scenarios.FaultInfo{Options: f.Options, RoleOptions: f.RoleOptions, Check: func(s nemesis.Step) error {
			_, err := f.New(s)
			return err
		}}
		if f.Link {
			info.Target = scenarios.Link
		}
		k.Faults[f.Name] = info
	}
	for _, r := range nemesis.Roles {
		k.Roles = append(k.Roles, r.Name)
	}
	for _, w := range workloads.All() {
		k.Workloads[w.Name] = nil
	}
	k.Wants, k.Fits = wants, fits
	for _, c := range checker.All() {
		k.Checkers = append(k.Checkers, c.Name())
	}
	for _, c := range []checker.Class{checker.StaleWrite, checker.Overstay, checker.Undetermined, checker.DoubleGrant} {
		k.Classes = append(k.Classes, c.String())
	}
	return k
}

// wants says with which setting a scenario's workload cannot work.
func wants(w scenarios.Workload) (key, why, hint string) {
	entry, ok := workloads.Find(w.Name)
	if !ok {
		return "", "", ""
	}
	var s workloads.Setting
	if !errors.As(entry.Check(params(w)), &s) {
		return "", "", ""
	}
	return s.Key, s.Text, s.Hint
}

// fits says why a lock of the catalog cannot take part, and which locks can.
func fits(lock string, w scenarios.Workload, on locks.Topology) (why, hint string) {
	work, ok := workloads.Find(w.Name)
	entry, known := catalog.Find(lock)
	if !ok || !known {
		return "", ""
	}
	unfit := func(l catalog.Lock, w scenarios.Workload) string {
		p := params(w)
		if l.Family == catalog.Control {
			p.TTL = 0
		}
		if err := work.Refuses(p, l.Claims); err != nil {
			return err.Error() + ", and this lock does not offer that"
		}
		if !slices.Contains(l.Topologies, on) {
			return fmt.Sprintf("the scenario puts it on %s, and it runs on %s", on, words(l.Topologies))
		}
		return ""
	}
	if why = unfit(entry, w); why == "" {
		return "", ""
	}
	var can []string
	for _, l := range catalog.All() {
		if l.Family == entry.Family && unfit(l, w) == "" {
			can = append(can, l.Name)
		}
	}
	if len(can) > 0 {
		hint = "of its family these can: " + strings.Join(can, ", ")
	}
	if leased := w; w.TTL == 0 {
		// Asked for a ttl by mistake, more likely than for another lock.
		leased.TTL = scenarios.DefaultTTL
		if unfit(entry, leased) == "" {
			hint = strings.TrimSuffix(fmt.Sprintf("give it a ttl above 0s, such as %v; %s", leased.TTL, hint), "; ")
		}
	}
	return why, hint
}

// params are the settings of a scenario's workload as the workload gets them.
func params(w scenarios.Workload) workloads.Params {
	p := workloads.Params{TTL: w.TTL, Wait: w.Wait, HoldMin: w.Hold.From, HoldMax: w.Hold.To}
	for i := range w.Keys {
		p.Keys = append(p.Keys, keyName(i))
	}
	return p
}

func words(topologies []locks.Topology) string {
	list := make([]string, len(topologies))
	for i, t := range topologies {
		list[i] = string(t)
	}
	return strings.Join(list, ", ")
}
