package run

import (
	"lockbench/checker"
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
	for _, c := range checker.All() {
		k.Checkers = append(k.Checkers, c.Name())
	}
	for _, c := range []checker.Class{checker.StaleWrite, checker.Overstay, checker.Undetermined, checker.DoubleGrant} {
		k.Classes = append(k.Classes, c.String())
	}
	return k
}
