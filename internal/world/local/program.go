//go:build linux

package local

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"lockbench/internal/service"
	"lockbench/internal/world/process"
)

// program is the program of a service's nodes.
type program struct {
	path  string
	words []string            // inserted before all arguments
	as    *syscall.Credential // nil: the current user
}

func (p program) with(args []string) []string { return slices.Concat(p.words, args) }

// program finds the program of a service.
func (w *World) program(s *service.Service) (program, error) {
	needs := s.Needs
	usual := needs.Programs[0]
	name := cmp.Or(w.options.Programs[s.Name], usual.Name)
	var words []string
	if filepath.Base(name) == usual.Name {
		words = usual.Words
	}
	as, err := runAs(s)
	if err != nil {
		return program{}, err
	}
	path, err := process.Find(usual, name)
	if err != nil {
		return program{}, fmt.Errorf("no %s found: %s", name, needs.Install)
	}
	return program{path, words, as}, nil
}

// another finds another program of a service, in the directory of the nodes' program first.
func (w *World) another(s *service.Service, name string) (string, error) {
	nodes, err := w.program(s)
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(nodes.path), name)); err == nil {
		return path, nil
	}
	needs := s.Needs
	i := slices.IndexFunc(needs.Programs, func(e service.Executable) bool { return e.Name == name })
	path, err := process.Find(needs.Programs[i], "")
	if err != nil {
		return "", fmt.Errorf("no %s found: %s", name, needs.Install)
	}
	return path, nil
}

// runAs returns the user for programs of a service that refuse to run as root; nil: the current user.
func runAs(s *service.Service) (*syscall.Credential, error) {
	users := s.Needs.Users
	if os.Geteuid() != 0 || len(users) == 0 {
		return nil, nil
	}
	for _, name := range users {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}, nil
	}
	return nil, fmt.Errorf("%s refuses to be run as root, and this machine has no user %s: run lockbench as another user, or create one: useradd --system %s",
		s.Name, strings.Join(users, " or "), users[0])
}

// credit makes a command run as the user of the program.
func (p program) credit(cmd *exec.Cmd) {
	if p.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	}
}

// give changes the owner of a directory tree to the user of the program.
func (p program) give(folder string) error {
	if p.as == nil {
		return nil
	}
	return filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(p.as.Uid), int(p.as.Gid))
	})
}

// letIn lets the user of the program enter one of our directories, if its parents do.
func (p program) letIn(folder string) error {
	if p.as == nil {
		return nil
	}
	if err := os.Chmod(folder, 0o711); err != nil {
		return err
	}
	for above := filepath.Dir(folder); ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err != nil {
			return err
		}
		owner := info.Sys().(*syscall.Stat_t)
		mode := info.Mode().Perm()
		if mode&0o001 == 0 && !(owner.Uid == p.as.Uid && mode&0o100 != 0) && !(owner.Gid == p.as.Gid && mode&0o010 != 0) {
			return fmt.Errorf("%s is run as user %d, which may not enter %s: set TMPDIR to a directory that all users may enter", filepath.Base(p.path), p.as.Uid, above)
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}
