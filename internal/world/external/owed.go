//go:build linux

package external

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"lockbench/internal/claim"
	"lockbench/internal/regular"
	"lockbench/internal/service"
	"lockbench/internal/shellword"
)

// owed is the record of a file with undo commands, its owed.sh. A run keeps one while hooks are pending, and holds
// its lock, see package claim. A record without an owner belongs to a run that was killed, or whose undo failed.
type owed struct {
	File    string   `json:"file"`
	Host    string   `json:"host"`    // the machine on which lockbench ran
	Servers []string `json:"servers"` // their addresses, as the user and as the servers name them

	path string
}

// owedDir returns the folder of the records, which may not exist.
func owedDir() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the specification ignores relative paths
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return tempOwedDir()
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "lockbench", "owed"), nil
}

// tempOwedDir returns the folder for a user without a home. Other users may write to its parent, so it must belong to
// this user: lockbench asks the user to run the files that records name.
func tempOwedDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("lockbench-owed-%d", os.Getuid()))
	info, err := os.Lstat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return dir, nil
	}
	if err != nil {
		return "", err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(of.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return dir, nil
}

// makeOwedDir makes the folder of the records.
func makeOwedDir() (string, error) {
	dir, err := owedDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		dir, err = owedDir() // in the temporary folder another user may have made it first
	}
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return "", fmt.Errorf("the folder for records of pending undos %s: %w", dir, err)
	}
	return dir, nil
}

// newOwed returns the record for a file.
func newOwed(file string, l service.Location, site service.Site) (owed, error) {
	dir, err := makeOwedDir()
	if err != nil {
		return owed{}, err
	}
	o := owed{File: file, path: filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(file)))[:32]+".json")}
	o.Host, _ = os.Hostname()
	o.Servers = slices.AppendSeq(slices.Clone(l.Addrs), maps.Values(site.Addrs))
	slices.Sort(o.Servers)
	o.Servers = slices.Compact(o.Servers)
	return o, nil
}

// write makes the record. It returns the open file, which holds the lock.
func (o owed) write() (*os.File, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	f, err := claim.Take(o.path)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(o.path), f.Close())
	}
	return f, nil
}

// abandoned returns the records of runs that have ended without undoing their hooks. It removes those whose file is
// gone.
func abandoned() []owed {
	dir, err := owedDir()
	if err != nil {
		return nil // then no run could write one
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.json")) // sorted
	host, _ := os.Hostname()
	var all []owed
	for _, path := range paths {
		if !claim.Free(path) {
			continue
		}
		o := owed{path: path}
		text, err := regular.ReadFile(path)
		if err != nil || len(text) > 0 && json.Unmarshal(text, &o) != nil {
			continue // it is not a record
		}
		switch {
		case regular.Is(o.File):
			all = append(all, o)
		case len(text) == 0 || o.Host == host: // the file may exist on another machine
			claim.Clear(path, func() {
				if !regular.Is(o.File) {
					_ = os.Remove(path)
				}
			})
		}
	}
	return all
}

// concerns reports whether one of the servers has one of these addresses.
func (o owed) concerns(addrs []string) bool {
	host, _ := os.Hostname()
	return slices.ContainsFunc(o.Servers, func(server string) bool {
		at, loopback := bare(server)
		return (!loopback || o.Host == host) && slices.ContainsFunc(addrs, func(addr string) bool {
			named, _ := bare(addr)
			return named == at
		})
	})
}

// bare returns an address without the name localhost, and whether it is an address of this machine only.
func bare(addr string) (_ string, loopback bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, false
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	at, err := netip.ParseAddr(host)
	return net.JoinHostPort(host, port), err == nil && at.IsLoopback()
}

// notUndone is an error if a run on these servers has not undone its hooks.
func notUndone(addrs []string) error {
	for _, o := range abandoned() {
		if o.concerns(addrs) {
			return errors.New(o.String())
		}
	}
	return nil
}

// String describes the pending undos, with the command that runs them.
func (o owed) String() string {
	on := strings.Join(o.Servers, ", ")
	if host, _ := os.Hostname(); o.Host != host {
		on += " (from " + o.Host + ")"
	}
	return fmt.Sprintf("an earlier run has not undone its hooks on %s; run this, or remove the file if they are undone: sh %s", on, shellword.Quote(o.File))
}
