//go:build linux

package process

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Owners finds the party whose process has opened a connection on this machine:
//
//	addresses ── SOCK_DIAG ──▶ inode ── /proc/PID/fd ──▶ process ── its tree ──▶ party
//
// The connection must be open in that process during the lookup. Several processes of one tree
// may share it.
type Owners struct {
	mu      sync.Mutex
	parties map[*Process]string

	looking sync.Mutex
	members map[int]member // of the latest fresh look; guarded by looking
	last    [2]*look       // the latest look of each kind
	begun   [2]atomic.Uint64
}

// A look lists all sockets of all trees: of the known processes, or after listing the processes
// again (fresh). Concurrent callers share a look that began after they called.
type look struct {
	sockets map[uint32]holder
	blind   error // an error on a process that could not be read
}

const (
	atKnown = 0
	fresh   = 1
)

// holder is the party that has a socket open.
type holder struct {
	party string
	other string // a second party
}

var errNoOwner = errors.New("no process of lockbench has it open")

// Start starts cmd for a party. A lookup waits until its party is registered. On nil Owners it
// registers nothing.
func (o *Owners) Start(party string, cmd *exec.Cmd) (*Process, error) {
	if o == nil {
		return Start(cmd)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	if o.parties == nil {
		o.parties = map[*Process]string{}
	}
	o.parties[p] = party
	return p, nil
}

// Party returns the party of the process that dialled.
func (o *Owners) Party(dialler, listener netip.AddrPort) (party string, err error) {
	// Two fresh looks: a connection may be inherited by a new process between listing the
	// processes and reading their sockets.
	for _, kind := range []int{atKnown, fresh, fresh} {
		number, err := inode(dialler, listener)
		if err != nil {
			return "", err
		}
		l := o.look(kind)
		found, ok := l.sockets[number]
		switch {
		case ok && found.other != "":
			return "", fmt.Errorf("%s and %s both have it open", found.party, found.other)
		case ok:
			return found.party, nil
		case kind == fresh && l.blind != nil:
			return "", fmt.Errorf("%w: %w", errNoOwner, l.blind)
		}
	}
	return "", errNoOwner
}

// look returns a look that began after the call.
func (o *Owners) look(kind int) *look {
	seen := o.begun[kind].Load()
	o.looking.Lock()
	defer o.looking.Unlock()
	if o.begun[kind].Load() == seen {
		o.begun[kind].Add(1)
		o.last[kind] = o.lookAgain(kind)
	}
	return o.last[kind]
}

// lookAgain lists all sockets of all trees. o.looking must be held.
func (o *Owners) lookAgain(kind int) *look {
	o.mu.Lock()
	parties := maps.Clone(o.parties)
	o.mu.Unlock()
	if kind == fresh {
		o.members = trees(slices.Collect(maps.Keys(parties))...)
	}
	l := &look{sockets: map[uint32]holder{}}
	for pid, m := range o.members {
		numbers := socketsOf(pid, &l.blind)
		if kind == atKnown && len(numbers) > 0 && readStat(statOf(pid)).started != m.started {
			continue // the PID was reused
		}
		for _, number := range numbers {
			h, ok := l.sockets[number]
			switch party := parties[m.root]; {
			case !ok:
				h.party = party
			case h.party != party:
				h.other = party
			}
			l.sockets[number] = h
		}
	}
	return l
}

// socketsOf returns the inodes of the sockets that a process has open.
func socketsOf(pid int, blind *error) (numbers []uint32) {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			*blind = fmt.Errorf("process %d cannot be read: %w", pid, err)
		}
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // empty if the process has just ended
	var to [64]byte
	for _, name := range names {
		n, err := unix.Readlinkat(int(dir.Fd()), name, to[:])
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			*blind = fmt.Errorf("process %d cannot be read: %w", pid, err)
		}
		if err != nil {
			continue // most likely it was closed meanwhile
		}
		if text, ok := strings.CutPrefix(string(to[:n]), "socket:["); ok {
			if n, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 32); err == nil {
				numbers = append(numbers, uint32(n))
			}
		}
	}
	return numbers
}
