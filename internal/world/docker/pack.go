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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/service"
)

// program is one that the image has, under names that our scripts call.
type program struct {
	path  string   // where this machine has it
	names []string // in /bin of the image
}

// tools are the programs that every image has beside those of its service.
var tools = []service.Executable{
	{Name: "nft", Package: "nftables"},
	{Name: "sh", Package: "dash"},
	{Name: "cat", Package: "coreutils"},
	{Name: "rm", Package: "coreutils"},
	{Name: "mkdir", Package: "coreutils"},
	{Name: "sleep", Package: "coreutils"},
	{Name: "timeout", Package: "coreutils"},
}

// wanted are all programs of a service's image.
func wanted(s service.Service) []service.Executable { return append(s.Needs().Programs, tools...) }

// findPrograms looks for all of them, or says which are missing. Own is the person's own
// in the place of the first.
func findPrograms(s service.Service, own string) ([]program, error) {
	var found []program
	var packages []string
	for i, want := range wanted(s) {
		name, as := want.Name, want.As
		if len(as) == 0 {
			as = []string{want.Name}
		}
		if i == 0 && own != "" {
			name = own
		}
		path, err := lookPath(name)
		if err != nil && name == own {
			return nil, fmt.Errorf("there is no %s, which --%s-server names: %w", own, s.Name(), err)
		}
		if err != nil {
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

// lookPath also looks where administrators' programs are, such as nft: people's own
// PATH often leaves those out.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", err
}

// packed is the content of an image.
type packed struct {
	tar    []byte
	digest string
}

// pack makes the file system of an image out of programs and the libraries that
// they load. The same files make the same bytes.
func pack(ctx context.Context, programs []program) (packed, error) {
	files := map[string]string{} // paths in the image, and here
	for _, p := range programs {
		for _, name := range p.names {
			files["/bin/"+name] = p.path
		}
		libraries, err := librariesOf(ctx, p.path)
		if err != nil {
			return packed{}, err
		}
		for _, l := range libraries {
			files[l] = l
		}
	}
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	// Folders first: servers and scripts write there.
	err := errors.Join(
		t.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}),
		t.WriteHeader(&tar.Header{Name: "lb/", Typeflag: tar.TypeDir, Mode: 0o755}),
		addFile(t, "/etc/passwd", []byte("root:x:0:0:root:/:/bin/sh\n"), 0o644),
	)
	for _, at := range slices.Sorted(maps.Keys(files)) {
		content, readErr := readable(files[at])
		err = errors.Join(err, readErr, addFile(t, at, content, 0o755))
	}
	if err = errors.Join(err, t.Close()); err != nil {
		return packed{}, err
	}
	sum := sha256.Sum256(b.Bytes())
	return packed{b.Bytes(), hex.EncodeToString(sum[:])}, nil
}

// librariesOf asks the loader what a program loads. A program that needs none says
// so by an error of ldd, so that one only counts where it says nothing else.
func librariesOf(ctx context.Context, path string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "ldd", path)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case strings.Contains(text, "not a dynamic executable"), strings.Contains(text, "statically linked"):
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
		case lib == "not":
			return nil, fmt.Errorf("%s does not run on this machine: %s", path, strings.TrimSpace(text))
		}
	}
	return libraries, nil
}
