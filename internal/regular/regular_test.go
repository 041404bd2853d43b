//go:build linux

package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNotRegular: the test hangs if one of them is opened.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	pipe, linked, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "linked"), filepath.Join(dir, "socket")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, linked)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{pipe, linked, socket, "/dev/zero"} {
		_, err1 := Open(name)
		_, err2 := ReadFile(name)
		_, err3 := ReadUpTo(name, 10)
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, ErrNot) || !strings.Contains(err.Error(), name+": it is a pipe, a socket or a device") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestRegular(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(file); string(text) != "some text" || err != nil {
		t.Errorf("a file: %q, %v", text, err)
	}
	if text, err := ReadUpTo(file, 4); string(text) != "some" || err != nil {
		t.Errorf("the first of a file: %q, %v", text, err)
	}
	if text, err := ReadFile(os.DevNull); len(text) > 0 || err != nil {
		t.Errorf("the null device: %q, %v", text, err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := ReadFile(dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("piped"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	name := fmt.Sprint("/dev/fd/", r.Fd())
	if text, err := ReadFile(name); string(text) != "piped" || err != nil {
		t.Errorf("a pipe of a shell's: %q, %v", text, err)
	}
}
