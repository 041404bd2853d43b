//go:build linux

package process

import (
	"crypto/rand"
	"os"
	"strings"

	"github.com/prometheus/procfs"
)

// The tree of a process consists of
//
//	its descendants                    by their parents, also behind setsid
//	its process group                  with any parent
//	processes that carry its mark      whose parent has ended
//
// The mark is an environment variable, which children inherit. A process without its parent, its
// group and its environment is not found.

// markPrefix begins the names of the variables. Each process has its own, so that a lockbench
// below another one keeps the other's marks.
const markPrefix = "LOCKBENCH_TREE_"

func newMark() string { return markPrefix + rand.Text() }

// readTable reads the list of processes, which may change meanwhile.
func readTable() map[int]procfs.ProcStat {
	all, _ := procfs.AllProcs()
	table := make(map[int]procfs.ProcStat, len(all))
	for _, p := range all {
		if stat, err := p.Stat(); err == nil {
			table[p.PID] = stat
		}
	}
	return table
}

// ended reports whether a process or a thread has ended. It may not be reaped yet.
func ended(stat procfs.ProcStat) bool { return strings.Contains("ZX", stat.State) }

// trees maps the PID of each living process that belongs to a tree to its root.
func trees(roots ...*Process) map[int]*Process {
	table := readTable()
	byPID, byMark := map[int]*Process{}, map[string]*Process{}
	for _, p := range roots {
		byMark[p.mark] = p
		if !p.reaped.Load() { // else the PID may be reused
			byPID[p.pid] = p
		}
	}
	// The kernel re-parents orphans to init, or to a subreaper above lockbench.
	adopts := map[int]bool{1: true}
	for pid := os.Getpid(); pid > 1 && !adopts[pid]; pid = table[pid].PPID {
		adopts[pid] = true
	}
	found := map[int]*Process{} // nil: in none of the trees
	var find func(pid int) *Process
	find = func(pid int) *Process {
		if p, ok := found[pid]; ok {
			return p
		}
		found[pid] = nil // the table may have a cycle, as it changed while it was read
		e := table[pid]
		p := byPID[pid]
		if p == nil {
			p = byPID[e.PGRP]
		}
		if p == nil {
			if _, there := table[e.PPID]; there && !adopts[e.PPID] {
				p = find(e.PPID)
			} else if !ended(e) {
				p = marked(pid, byMark)
			}
		}
		found[pid] = p
		return p
	}
	members := map[int]*Process{}
	for pid, e := range table {
		if p := find(pid); p != nil && !ended(e) {
			members[pid] = p
		}
	}
	return members
}

// marked returns the process whose mark another one carries.
func marked(pid int, byMark map[string]*Process) *Process {
	var variables []string
	if p, err := procfs.NewProc(pid); err == nil {
		variables, _ = p.Environ()
	}
	for _, variable := range variables {
		name, _, _ := strings.Cut(variable, "=")
		if p, ok := byMark[name]; ok {
			return p
		}
	}
	return nil
}

// still reports whether all threads of a process are stopped or have ended. A thread in
// uninterruptible sleep (D) counts as stopped, because it stops before it leaves the kernel. The
// parent of a vfork is in that state until its child continues, and the child is stopped too.
func still(pid int) bool {
	threads, _ := procfs.AllThreads(pid)
	for _, t := range threads {
		if stat, err := t.Stat(); err == nil && !ended(stat) && !strings.Contains("TtD", stat.State) {
			return false
		}
	}
	return true
}

// Alive reports whether a process has not ended.
func Alive(pid int) bool {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return false
	}
	stat, err := p.Stat()
	return err == nil && !ended(stat)
}
