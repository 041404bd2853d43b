//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/output"
	"lockbench/internal/world/process"
	"lockbench/service"
)

// program is a program of the image, under the names that scripts use.
type program struct {
	path  string   // on this machine
	names []string // in /bin of the image
}

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
func wanted(s service.Service) []service.Executable { return append(s.Needs().Programs, tools...) }

// findPrograms finds all programs, or returns which are missing. own is the user's program in place of the
// first.
func findPrograms(s service.Service, own string) ([]program, error) {
	var found []program
	var packages []string
	for i, want := range wanted(s) {
		as := want.As
		if len(as) == 0 {
			as = []string{want.Name}
		}
		if i > 0 {
			own = ""
		}
		path, err := process.Find(want, own)
		if err != nil && own != "" {
			return nil, fmt.Errorf("there is no program %s of --server %s=PATH: %w", own, s.Name(), err)
		}
		if err != nil {
			if want.Package == "" {
				return nil, errors.New(s.Needs().Install)
			}
			packages = append(packages, want.Package)
			continue
		}
		found = append(found, program{path, as})
	}
	if len(packages) > 0 {
		return nil, fmt.Errorf("this machine lacks programs for the image: apt-get install %s", strings.Join(slices.Compact(packages), " "))
	}
	return found, nil
}

// PackProgram returns the file system of an image in which lockbench itself runs servers, as a tar: the program at
// a path, the servers of services, and the tools of world local. Any user may run it and write results.
func PackProgram(ctx context.Context, path string, services []service.Service) ([]byte, error) {
	all := content{map[string]file{}}
	programs := []program{{path, []string{"lockbench"}}}
	for _, s := range services {
		found, err := findPrograms(s, "")
		if err != nil {
			return nil, err
		}
		c, err := gather(ctx, found, s.Needs())
		if err != nil {
			return nil, err
		}
		maps.Copy(all.files, c.files)
	}
	c, err := gather(ctx, programs, service.Needs{})
	if err != nil {
		return nil, err
	}
	maps.Copy(all.files, c.files)
	return all.pack("results/")
}

// content is the content of an image, by path.
type content struct {
	files map[string]file
}

// file is a copy of a file of this machine, or a link.
type file struct {
	from string
	link string // the target of a link; empty: a copy
	mode int64
	// many marks one of many files, which are identified by size and time, because reading a whole Java for
	// each digest takes too long.
	many bool
}

// gather collects the content of an image: programs, their libraries, and the other files of their service.
func gather(ctx context.Context, programs []program, needs service.Needs) (content, error) {
	c := content{map[string]file{}}
	if needs.Files != nil {
		real, err := filepath.EvalSymlinks(programs[0].path)
		if err != nil {
			return c, fmt.Errorf("find the files of %s: %w", programs[0].path, err)
		}
		for _, pattern := range needs.Files(real) {
			found, err := filepath.Glob(pattern)
			if err != nil {
				return c, fmt.Errorf("find the files of %s: %w", real, err)
			}
			for _, at := range found {
				if err := c.tree(ctx, at); err != nil {
					return c, err
				}
			}
		}
	}
	for _, p := range programs {
		real, err := filepath.EvalSymlinks(p.path)
		if err != nil {
			return c, fmt.Errorf("find %s: %w", p.path, err)
		}
		_, whole := c.files[real] // it looks for files in its directory
		for _, name := range p.names {
			if whole {
				c.files["/bin/"+name] = file{link: real}
			} else {
				c.files["/bin/"+name] = file{from: p.path, mode: 0o755}
			}
		}
		libraries, err := librariesOf(ctx, real, false)
		if err != nil {
			return c, err
		}
		c.libraries(libraries)
	}
	return c, nil
}

func (c content) libraries(paths []string) {
	for _, l := range paths {
		l = filepath.Clean(l) // one path for each file
		if _, known := c.files[l]; !known {
			c.files[l] = file{from: l, mode: 0o755}
		}
	}
}

// tree adds a file, or all files of a directory, and their libraries. Links are followed; dangling ones are left
// out.
func (c content) tree(ctx context.Context, at string) error {
	info, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at a file for the image: %w", err)
	}
	if info.IsDir() {
		inside, err := os.ReadDir(at)
		if err != nil {
			return fmt.Errorf("look at a folder for the image: %w", err)
		}
		for _, e := range inside {
			if err := c.tree(ctx, filepath.Join(at, e.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	c.files[at] = file{from: at, mode: int64(info.Mode().Perm() | 0o444), many: true}
	if info.Mode()&0o111 == 0 && !strings.HasSuffix(at, ".so") {
		return nil
	}
	libraries, err := librariesOf(ctx, at, true)
	c.libraries(libraries)
	return err
}

// fixed are files of all images. Services that refuse to run as root run as [ordinary].
var fixed = map[string]string{
	"/etc/passwd": "root:x:0:0:root:/:/bin/sh\nlockbench:x:" + ordinary + ":" + ordinary + ":lockbench:/lb:/bin/sh\n",
	"/etc/group":  "root:x:0:\nlockbench:x:" + ordinary + ":\n",
}

// ordinary is the UID of a user who may write only in the directory of its server.
const ordinary = "1000"

// digest returns the same text for the same files.
func (c content) digest() (string, error) {
	sum := sha256.New()
	for _, at := range slices.Sorted(maps.Keys(c.files)) {
		f := c.files[at]
		fmt.Fprintf(sum, "%s %s %o %t\n", at, f.link, f.mode, f.many)
		switch {
		case f.many:
			info, err := os.Stat(f.from)
			if err != nil {
				return "", fmt.Errorf("look at a file for the image: %w", err)
			}
			fmt.Fprintln(sum, info.Size(), info.ModTime().UnixNano())
		case f.link == "":
			b, err := readable(f.from)
			if err != nil {
				return "", err
			}
			fmt.Fprintln(sum, len(b))
			sum.Write(b)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(fixed)) {
		fmt.Fprintln(sum, at, fixed[at])
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// pack returns the file system of an image, with directories that all users may write. The same files give the
// same bytes.
func (c content) pack(open ...string) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	// Directories for servers and scripts.
	err := errors.Join(
		t.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}),
		t.WriteHeader(&tar.Header{Name: "lb/", Typeflag: tar.TypeDir, Mode: 0o755}),
	)
	for _, name := range open {
		err = errors.Join(err, t.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o777}))
	}
	for _, at := range slices.Sorted(maps.Keys(fixed)) {
		err = errors.Join(err, addFile(t, at, []byte(fixed[at]), 0o644))
	}
	for _, at := range slices.Sorted(maps.Keys(c.files)) {
		f := c.files[at]
		if f.link != "" {
			err = errors.Join(err, t.WriteHeader(&tar.Header{Name: strings.TrimPrefix(at, "/"), Typeflag: tar.TypeSymlink, Linkname: f.link, Mode: 0o777}))
			continue
		}
		text, readErr := readable(f.from)
		err = errors.Join(err, readErr, addFile(t, at, text, f.mode))
	}
	if err = errors.Join(err, t.Close()); err != nil {
		return nil, fmt.Errorf("pack an image: %w", err)
	}
	return b.Bytes(), nil
}

// librariesOf returns the libraries that a program loads. ldd fails for a static program, so only its output counts
// as an error. Some files of a tree may need libraries that the machine lacks.
func librariesOf(ctx context.Context, path string, some bool) ([]string, error) {
	cmd := exec.CommandContext(ctx, "ldd", path)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := output.Combined(cmd)
	text := string(out)
	switch {
	case strings.Contains(text, "not a dynamic executable"), strings.Contains(text, "statically linked"):
		return nil, nil
	case err != nil && some:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("ask which libraries %s needs: ldd: %w: %.200s", path, err, text)
	}
	var libraries []string
	for line := range strings.Lines(text) {
		// "libm.so.6 => /lib/libm.so.6 (0x7f...)", or the loader itself: "/lib64/ld.so (0x...)"
		if _, target, ok := strings.Cut(line, "=>"); ok {
			line = target
		}
		lib, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.HasPrefix(lib, "/"):
			libraries = append(libraries, lib)
		case lib == "not" && !some:
			return nil, fmt.Errorf("%s does not run on this machine: %s", path, strings.TrimSpace(text))
		}
	}
	return libraries, nil
}
