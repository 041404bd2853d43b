//go:build linux

package process

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The tree of a process is all that it has started, and what that has started:
//
//	its descendants                    by their parents, also those that called setsid
//	its process group                  whoever their parent is
//	processes that carry its mark      re-parented ones, whose own parent has ended
//
// The mark is a variable of the environment, which children inherit. What has lost its
// parent, its group and its environment is not found.

// markPrefix begins the names of the variables. Each process has one of its own, so that
// a lockbench that runs below another one does not take the marks of that away.
const markPrefix = "LOCKBENCH_TREE_"

func newMark() string { return markPrefix + rand.Text() }

// entry is one line of the system's table of processes.
type entry struct {
	state         byte
	parent, group int
	started       uint64 // in ticks since the machine's start: tells two processes of one number apart
}

func (e entry) ended() bool { return e.state == 0 || e.state == 'Z' || e.state == 'X' }

// readTable reads the system's table of processes. Processes come and go while it is read.
func readTable() map[int]entry {
	names, _ := readDir("/proc")
	table := make(map[int]entry, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e := readStat(statOf(pid)); e.state != 0 {
			table[pid] = e
		}
	}
	return table
}

func statOf(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/stat" }

// readStat reads one line of the table, of a process or a thread; zero if it is gone.
// The fields follow the command's name, which stands in brackets and may hold
// anything, brackets too.
func readStat(path string) (e entry) {
	// Not by os.ReadFile: a whole table is read for every kill, and this takes half as long.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return entry{}
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return entry{}
	}
	text := buf[:n]
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return entry{}
	}
	e.state = fields[0][0]
	e.parent, _ = strconv.Atoi(string(fields[1]))
	e.group, _ = strconv.Atoi(string(fields[2]))
	e.started, _ = strconv.ParseUint(string(fields[19]), 10, 64)
	return e
}

// member is a running process that belongs to a tree.
type member struct {
	root    *Process
	started uint64
}

// trees tells for each running process that belongs to a tree of the roots to which one.
func trees(roots ...*Process) map[int]member {
	table := readTable()
	byPID, byMark := map[int]*Process{}, map[string]*Process{}
	for _, p := range roots {
		byMark[p.mark] = p
		if !p.reaped.Load() { // else the number may be somebody else's
			byPID[p.pid] = p
		}
	}
	// Whoever has lost its parent belongs to init, or to one above us that has asked for such.
	adopts := map[int]bool{1: true}
	for pid := os.Getpid(); pid > 1 && !adopts[pid]; pid = table[pid].parent {
		adopts[pid] = true
	}
	found := map[int]*Process{} // nil: nobody's
	var find func(pid int) *Process
	find = func(pid int) *Process {
		if p, ok := found[pid]; ok {
			return p
		}
		found[pid] = nil // a table that was read while it changed may have a ring
		e := table[pid]
		p := byPID[pid]
		if p == nil {
			p = byPID[e.group]
		}
		if p == nil {
			if _, there := table[e.parent]; there && !adopts[e.parent] {
				p = find(e.parent)
			} else if !e.ended() {
				p = marked(pid, byMark)
			}
		}
		found[pid] = p
		return p
	}
	members := map[int]member{}
	for pid, e := range table {
		if p := find(pid); p != nil && !e.ended() {
			members[pid] = member{p, e.started}
		}
	}
	return members
}

// marked is the process whose mark another one carries.
func marked(pid int, byMark map[string]*Process) *Process {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return nil
	}
	for variable := range strings.SplitSeq(string(text), "\x00") {
		if strings.HasPrefix(variable, markPrefix) {
			name, _, _ := strings.Cut(variable, "=")
			if p, ok := byMark[name]; ok {
				return p
			}
		}
	}
	return nil
}

// still tells whether all threads of a process that was sent SIGSTOP are stopped, or it has
// ended. One that sleeps in the kernel and takes no signals there (D) counts: it stops before
// it comes out. To wait for that may be to wait for ever: who has started a child by vfork
// sleeps so until the child goes on, and the child is stopped too.
func still(pid int) bool {
	threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	for _, stat := range threads {
		if e := readStat(stat); !e.ended() && !strings.ContainsRune("TtD", rune(e.state)) {
			return false
		}
	}
	return true
}

// Alive tells whether there is a process with this number that has not ended.
func Alive(pid int) bool {
	return !readStat(statOf(pid)).ended()
}
