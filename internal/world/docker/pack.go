//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockbench/deploy/images"
	"lockbench/internal/service"
	"lockbench/internal/world/process"
)

// tools are the programs of every image in addition to those of its service.
var tools = []service.Executable{
	{Name: "nft", Package: "nftables"},
	{Name: "sh", Package: "dash"},
	{Name: "cat", Package: "coreutils"},
	{Name: "rm", Package: "coreutils"},
	{Name: "mkdir", Package: "coreutils"},
	{Name: "sleep", Package: "coreutils"},
	{Name: "timeout", Package: "coreutils"},
	{Name: "chown", Package: "coreutils"},
	{Name: "cp", Package: "coreutils"},
	{Name: "setpriv", Package: "util-linux"},
}

// wanted returns all programs of a service's image.
func wanted(s *service.Service) []service.Executable { return slices.Concat(s.Needs.Programs, tools) }

// findPrograms returns the arguments with which [images.Pack] packs the programs of a service, or an error that
// names the missing ones. own is the user's program in place of the first.
func findPrograms(s *service.Service, own string) ([]string, error) {
	var args, packages []string
	var first string // the program of nodes
	for i, want := range wanted(s) {
		if i > 0 {
			own = ""
		}
		path, err := process.Find(want, own)
		switch {
		case err != nil && own != "":
			return nil, fmt.Errorf("there is no program %s of --server %s=PATH: %w", own, s.Name, err)
		case err != nil && want.Package == "":
			return nil, errors.New(s.Needs.Install)
		case err != nil:
			packages = append(packages, want.Package)
			continue
		}
		if i == 0 {
			first = path
		}
		if len(want.As) == 0 {
			want.As = []string{want.Name}
		}
		args = append(args, strings.Join(want.As, ",")+"="+path)
	}
	if len(packages) > 0 {
		return nil, fmt.Errorf("this machine lacks programs for the image: apt-get install %s", strings.Join(slices.Compact(packages), " "))
	}
	if s.Needs.Files == nil {
		return args, nil
	}
	real, err := filepath.EvalSymlinks(first)
	if err != nil {
		return nil, fmt.Errorf("find the files of %s: %w", first, err)
	}
	args = append(args, "--")
	for _, pattern := range s.Needs.Files(real) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("find the files of %s: %w", real, err)
		}
		args = append(args, found...)
	}
	return args, nil
}

// pack runs [images.Pack]. The modes are list and tar.
func pack(ctx context.Context, mode string, programs []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", images.Pack, "pack.sh", mode}, programs...)...)
	// It removes its temporary files at SIGTERM.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("make an image of this machine's programs: %w", err)
	}
	return out, nil
}
