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

// entry is one process in /proc.
type entry struct {
	state         byte
	parent, group int
	started       uint64 // in ticks since boot; differs if a PID was reused
}

func (e entry) ended() bool { return e.state == 0 || e.state == 'Z' || e.state == 'X' }

// readTable reads the list of processes, which may change meanwhile.
func readTable() map[int]entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
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

// readStat reads the stat file of a process or a thread. The result is zero if it has ended. The
// fields follow the command's name, which is in brackets and may contain brackets.
func readStat(path string) (e entry) {
	// Not os.ReadFile: every kill reads the whole list, and this takes half the time.
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

// trees maps the PID of each living process that belongs to a tree to its root.
func trees(roots ...*Process) map[int]member {
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
	for pid := os.Getpid(); pid > 1 && !adopts[pid]; pid = table[pid].parent {
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

// marked returns the process whose mark another one carries.
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

// still reports whether all threads of a process are stopped or have ended. A thread in
// uninterruptible sleep (D) counts as stopped, because it stops before it leaves the kernel. The
// parent of a vfork is in that state until its child continues, and the child is stopped too.
func still(pid int) bool {
	threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	for _, stat := range threads {
		if e := readStat(stat); !e.ended() && !strings.ContainsRune("TtD", rune(e.state)) {
			return false
		}
	}
	return true
}

// Alive reports whether a process has not ended.
func Alive(pid int) bool {
	return !readStat(statOf(pid)).ended()
}
