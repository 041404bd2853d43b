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

// Owners tells whose a connection is that somebody on this machine has opened, without
// the dialler's help:
//
//	addresses ── SOCK_DIAG ──▶ inode ── /proc/PID/fd ──▶ process ── its tree ──▶ party
//
// So it must be asked while the dialler has the connection open. A file descriptor may be
// in several processes of one tree; that is one party all the same.
type Owners struct {
	mu      sync.Mutex
	parties map[*Process]string

	looking sync.Mutex
	members map[int]member // as of the latest fresh look; guarded by looking
	last    [2]*look       // the latest look of each kind
	begun   [2]atomic.Uint64
}

// A look at all sockets of all trees: at the processes that are known, or a fresh one at
// those that there are. Those who ask at the same time share one, if it has begun after
// they came.
type look struct {
	sockets map[uint32]holder
	blind   error // what could not be looked into
}

const (
	atKnown = 0
	fresh   = 1
)

// holder is who has a socket open.
type holder struct {
	party string
	other string // and somebody else
}

var errNobody = errors.New("no process that was started here has it open")

// Start starts cmd in the name of a party. Nobody is told of a connection of it before
// it is known whose it is. Nil Owners know nobody.
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

// Ready says why the kernel cannot be asked.
func (o *Owners) Ready() error { return canAsk() }

// Of names the party of which a process has dialled.
func (o *Owners) Of(dialler, listener netip.AddrPort) (party string, err error) {
	// A fresh look twice: between the list of processes and the look at each, a connection
	// may have been handed on to a new one.
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
			return "", fmt.Errorf("%w: %w", errNobody, l.blind)
		}
	}
	return "", errNobody
}

// look looks, or waits for the end of a look that has begun after it was called.
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

// lookAgain finds all sockets of all trees. o.looking must be held.
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
			continue // the number is another one's by now
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

// socketsOf lists the numbers of the sockets that a process has open.
func socketsOf(pid int, blind *error) (numbers []uint32) {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			*blind = fmt.Errorf("process %d cannot be looked into: %w", pid, err)
		}
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a process that has just ended has none
	var to [64]byte
	for _, name := range names {
		n, err := unix.Readlinkat(int(dir.Fd()), name, to[:])
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			*blind = fmt.Errorf("process %d cannot be looked into: %w", pid, err)
		}
		if err != nil {
			continue // closed meanwhile, most likely
		}
		if text, ok := strings.CutPrefix(string(to[:n]), "socket:["); ok {
			if n, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 32); err == nil {
				numbers = append(numbers, uint32(n))
			}
		}
	}
	return numbers
}

func readDir(path string) ([]string, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}
