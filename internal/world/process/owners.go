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
	"strings"
	"sync"
	"sync/atomic"
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
	last    *look // guarded by looking
	begun   atomic.Uint64
}

// A look lists the parties that have sockets open, by the sockets' inodes. Concurrent callers share a look that
// began after they called.
type look struct {
	sockets map[uint32][]string
	blind   error // an error on a process that could not be read
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

// Ready returns why the kernel cannot be asked, or nil.
func (o *Owners) Ready() error {
	unused := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1)
	if _, err := inode(unused, unused); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// Party returns the party of the process that dialled.
func (o *Owners) Party(dialler, listener netip.AddrPort) (party string, err error) {
	// Two looks: a connection may be inherited by a new process between listing the processes and reading
	// their sockets.
	for range 2 {
		number, err := inode(dialler, listener)
		if err != nil {
			return "", err
		}
		l := o.look()
		switch parties := l.sockets[number]; {
		case len(parties) == 1:
			return parties[0], nil
		case len(parties) > 1:
			return "", fmt.Errorf("%s all have it open", strings.Join(parties, " and "))
		case l.blind != nil:
			return "", fmt.Errorf("%w: %w", errNoOwner, l.blind)
		}
	}
	return "", errNoOwner
}

// look returns a look that began after the call.
func (o *Owners) look() *look {
	seen := o.begun.Load()
	o.looking.Lock()
	defer o.looking.Unlock()
	if o.begun.Load() == seen {
		o.begun.Add(1)
		o.last = o.lookAgain()
	}
	return o.last
}

// lookAgain lists all sockets of all trees.
func (o *Owners) lookAgain() *look {
	o.mu.Lock()
	parties := maps.Clone(o.parties)
	o.mu.Unlock()
	l := &look{sockets: map[uint32][]string{}}
	for pid, root := range trees(slices.Collect(maps.Keys(parties))...) {
		for _, number := range socketsOf(pid, &l.blind) {
			if party := parties[root]; !slices.Contains(l.sockets[number], party) {
				l.sockets[number] = append(l.sockets[number], party)
			}
		}
	}
	return l
}

// socketsOf returns the inodes of the sockets that a process has open. A process or a file that is there no more
// has none.
func socketsOf(pid int, blind *error) (numbers []uint32) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	files, err := os.ReadDir(dir)
	denied := errors.Is(err, os.ErrPermission)
	for _, f := range files {
		to, err := os.Readlink(dir + f.Name())
		denied = denied || errors.Is(err, os.ErrPermission)
		var number uint32
		if n, _ := fmt.Sscanf(to, "socket:[%d]", &number); n == 1 {
			numbers = append(numbers, number)
		}
	}
	if denied {
		*blind = fmt.Errorf("process %d cannot be read", pid)
	}
	return numbers
}
