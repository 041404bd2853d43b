//go:build linux

package unsynced

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockbench/internal/needs"
	"lockbench/internal/world"
)

// disk mounts a disk at a new folder.
func disk(t *testing.T) (d *Disk, folder string) {
	t.Helper()
	needs.OrSkip(t, "fuse", Ready())
	folder, objects := t.TempDir(), t.TempDir()
	d, err := Mount(folder, objects, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if mounts, _ := os.ReadFile("/proc/mounts"); bytes.Contains(mounts, []byte(folder)) {
			t.Errorf("%s is still mounted", folder)
		}
	})
	return d, folder
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// program writes to a disk, in a folder.
type program struct {
	t   *testing.T
	dir string
}

func (p program) at(name string) string { return filepath.Join(p.dir, name) }

// write replaces the contents of a file, without a sync.
func (p program) write(name, text string) {
	p.t.Helper()
	must(p.t, os.WriteFile(p.at(name), []byte(text), 0o644))
}

// over writes at an offset, with more flags of open.
func (p program) over(name string, offset int64, text string, flags int) {
	p.t.Helper()
	f, err := os.OpenFile(p.at(name), os.O_RDWR|flags, 0)
	must(p.t, err)
	_, err = f.WriteAt([]byte(text), offset)
	must(p.t, err, f.Close())
}

// sync syncs a file or folder.
func (p program) sync(names ...string) {
	p.t.Helper()
	for _, name := range names {
		f, err := os.Open(p.at(name))
		must(p.t, err)
		must(p.t, f.Sync(), f.Close())
	}
}

// found returns the names and contents of everything in the folder.
func (p program) found() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	must(p.t, filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == p.dir {
			return err
		}
		name, _ := filepath.Rel(p.dir, path)
		switch {
		case e.IsDir():
			all[name] = "folder"
		case e.Type()&fs.ModeSymlink != 0:
			all[name], err = os.Readlink(path)
		default:
			var text []byte
			text, err = os.ReadFile(path)
			all[name] = string(text)
		}
		return err
	}))
	return all
}

// inodes counts the files and folders, without a second name.
func (p program) inodes() int {
	p.t.Helper()
	all := map[uint64]bool{}
	must(p.t, filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var s unix.Stat_t
		err = unix.Lstat(path, &s)
		all[s.Ino] = true
		return err
	}))
	return len(all)
}

type files map[string]string

// The table is the model: what a program does, and what it finds after a loss in each of the readings.
func TestModel(t *testing.T) {
	big := strings.Repeat("old ", 5000) // several blocks
	for _, c := range []struct {
		name         string
		do           func(p program)
		strict, kind files // kind: what names that are kept add or change
	}{
		{"nothing", func(program) {}, files{"base": "base", "big": big}, nil},
		{"a new file", func(p program) { p.write("new", "x") }, files{"base": "base", "big": big}, files{"new": ""}},
		{"a new file that is synced", func(p program) { p.write("new", "x"); p.sync("new") },
			files{"base": "base", "big": big}, files{"new": "x"}},
		{"a new file whose folder is synced", func(p program) { p.write("new", "x"); p.sync(".") },
			files{"base": "base", "big": big, "new": ""}, nil},
		{"a new file that is synced with its folder", func(p program) { p.write("new", "x"); p.sync("new", ".") },
			files{"base": "base", "big": big, "new": "x"}, nil},
		{"overwritten", func(p program) { p.over("base", 1, "XX", 0) }, files{"base": "base", "big": big}, nil},
		{"overwritten and synced", func(p program) { p.over("base", 1, "XX", 0); p.sync("base") }, files{"base": "bXXe", "big": big}, nil},
		{"synced and overwritten", func(p program) { p.over("base", 1, "XX", 0); p.sync("base"); p.over("base", 0, "YYYYYY", 0) },
			files{"base": "bXXe", "big": big}, nil},
		{"O_SYNC", func(p program) { p.over("base", 4, "+", os.O_SYNC) }, files{"base": "base+", "big": big}, nil},
		{"O_DSYNC", func(p program) { p.over("base", 4, "+", syscall.O_DSYNC) }, files{"base": "base+", "big": big}, nil},
		{"a part of a large file", func(p program) { p.over("big", 9000, "new", 0) }, files{"base": "base", "big": big}, nil},
		{"two parts, one synced", func(p program) { p.over("big", 9000, "new", 0); p.sync("big"); p.over("big", 9001, "NEW", 0) },
			files{"base": "base", "big": big[:9000] + "new" + big[9003:]}, nil},
		{"appended", func(p program) { p.over("big", int64(len(big)), "more", 0) }, files{"base": "base", "big": big}, nil},
		{"truncated", func(p program) { must(p.t, os.Truncate(p.at("big"), 5000)) }, files{"base": "base", "big": big}, nil},
		{"truncated and written", func(p program) { p.write("big", "short") }, files{"base": "base", "big": big}, nil},
		{"truncated and grown", func(p program) {
			must(p.t, os.Truncate(p.at("big"), 1), os.Truncate(p.at("big"), 30000))
		}, files{"base": "base", "big": big}, nil},
		{"truncated and synced", func(p program) { must(p.t, os.Truncate(p.at("big"), 5000)); p.sync("big") },
			files{"base": "base", "big": big[:5000]}, nil},
		{"removed", func(p program) { must(p.t, os.Remove(p.at("base"))) },
			files{"base": "base", "big": big}, files{"base": gone}},
		{"removed, and the folder synced", func(p program) { must(p.t, os.Remove(p.at("base"))); p.sync(".") }, files{"big": big}, nil},
		{"removed and made again", func(p program) { must(p.t, os.Remove(p.at("base"))); p.write("base", "2"); p.sync("base") },
			files{"base": "base", "big": big}, files{"base": "2"}},
		{"renamed", func(p program) { must(p.t, os.Rename(p.at("base"), p.at("moved"))) },
			files{"base": "base", "big": big}, files{"base": gone, "moved": "base"}},
		{"renamed, and the folder synced", func(p program) { must(p.t, os.Rename(p.at("base"), p.at("moved"))); p.sync(".") },
			files{"moved": "base", "big": big}, nil},
		{"replaced without a sync", func(p program) { p.write("tmp", "2"); must(p.t, os.Rename(p.at("tmp"), p.at("base"))) },
			files{"base": "base", "big": big}, files{"base": ""}},
		{"replaced with a sync of the file", func(p program) {
			p.write("tmp", "2")
			p.sync("tmp")
			must(p.t, os.Rename(p.at("tmp"), p.at("base")))
		}, files{"base": "base", "big": big}, files{"base": "2"}},
		{"replaced, all synced", func(p program) {
			p.write("tmp", "2")
			p.sync("tmp")
			must(p.t, os.Rename(p.at("tmp"), p.at("base")))
			p.sync(".")
		}, files{"base": "2", "big": big}, nil},
		{"linked", func(p program) { must(p.t, os.Link(p.at("base"), p.at("second"))) },
			files{"base": "base", "big": big}, files{"second": "base"}},
		{"a symbolic link", func(p program) { must(p.t, os.Symlink("base", p.at("link"))); p.sync(".") },
			files{"base": "base", "big": big, "link": "base"}, nil},
		{"a folder", func(p program) { must(p.t, os.Mkdir(p.at("d"), 0o755)); p.write("d/f", "x"); p.sync("d/f") },
			files{"base": "base", "big": big}, files{"d": "folder", "d/f": "x"}},
		{"a folder that is synced, but not its parent", func(p program) {
			must(p.t, os.Mkdir(p.at("d"), 0o755))
			p.write("d/f", "x")
			p.sync("d/f", "d")
		}, files{"base": "base", "big": big}, files{"d": "folder", "d/f": "x"}},
		{"a folder whose parent is synced", func(p program) {
			must(p.t, os.Mkdir(p.at("d"), 0o755))
			p.write("d/f", "x")
			p.sync("d/f", ".")
		}, files{"base": "base", "big": big, "d": "folder"}, files{"d/f": "x"}},
		{"moved to another folder, which is synced", func(p program) {
			must(p.t, os.Mkdir(p.at("d"), 0o755))
			p.sync(".")
			must(p.t, os.Rename(p.at("base"), p.at("d/base")))
			p.sync("d")
		}, files{"base": "base", "big": big, "d": "folder", "d/base": "base"}, files{"base": gone}},
		{"a removed folder", func(p program) {
			must(p.t, os.Mkdir(p.at("d"), 0o755))
			p.write("d/f", "x")
			p.sync("d/f", "d", ".")
			must(p.t, os.RemoveAll(p.at("d")))
		}, files{"base": "base", "big": big, "d": "folder", "d/f": "x"}, files{"d": gone, "d/f": gone}},
		{"allocated", func(p program) {
			f, err := os.OpenFile(p.at("base"), os.O_RDWR, 0)
			must(p.t, err)
			must(p.t, unix.Fallocate(int(f.Fd()), 0, 0, 100), f.Close())
		}, files{"base": "base", "big": big}, nil},
		{"a hole", func(p program) {
			f, err := os.OpenFile(p.at("big"), os.O_RDWR, 0)
			must(p.t, err)
			must(p.t, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4096, 4096), f.Close())
		}, files{"base": "base", "big": big}, nil},
		{"mapped", func(p program) { p.mapped("big", false) }, files{"base": "base", "big": big}, nil},
		{"mapped and synced", func(p program) { p.mapped("big", true) }, files{"base": "base", "big": "MAP" + big[3:]}, nil},
	} {
		for _, names := range []world.Names{world.NamesLost, world.NamesKept} {
			t.Run(fmt.Sprintf("%s, names %s", c.name, names), func(t *testing.T) {
				d, folder := disk(t)
				p := program{t, folder}
				p.write("base", "base")
				p.write("big", big)
				d.Settle()
				c.do(p)
				want := files{}
				for name, text := range c.strict {
					want[name] = text
				}
				if names == world.NamesKept {
					for name, text := range c.kind {
						if want[name] = text; text == gone {
							delete(want, name)
						}
					}
				}
				for range 2 { // after the second loss everything is as after the first
					if _, err := d.Lose(names); err != nil {
						t.Fatal(err)
					}
					found := p.found()
					for name := range found {
						if _, ok := want[name]; !ok {
							t.Errorf("%s is there: %.40q", name, found[name])
						}
					}
					for name, text := range want {
						if got, ok := found[name]; !ok || got != text {
							t.Errorf("%s: %.40q (%d bytes), want %.40q (%d bytes)", name, got, len(got), text, len(text))
						}
					}
				}
				if kept, used := len(d.tree.nodes), p.inodes(); kept != used {
					t.Errorf("%d nodes are kept, and %d are used", kept, used)
				}
			})
		}
	}
}

// gone is a file that is not there.
const gone = "\x00gone"

// mapped writes to a file through memory.
func (p program) mapped(name string, sync bool) {
	p.t.Helper()
	f, err := os.OpenFile(p.at(name), os.O_RDWR, 0)
	must(p.t, err)
	memory, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(p.t, err)
	copy(memory, "MAP")
	if sync {
		must(p.t, unix.Msync(memory, unix.MS_SYNC))
	}
	must(p.t, unix.Munmap(memory), f.Close())
}

// Before a loss, a program sees its own writes, durable or not.
func TestCurrent(t *testing.T) {
	d, folder := disk(t)
	p := program{t, folder}
	p.write("a", "1")
	d.Settle()
	open, err := os.OpenFile(p.at("a"), os.O_RDWR, 0)
	must(t, err)
	must(t, os.Remove(p.at("a")))
	p.write("a", "2")
	_, err = open.WriteAt([]byte("one"), 0)
	must(t, err)
	text := make([]byte, 3)
	if _, err := open.ReadAt(text, 0); err != nil || string(text) != "one" {
		t.Errorf("the removed file has %q, %v", text, err)
	}
	must(t, open.Close())
	must(t, os.Mkdir(p.at("d"), 0o700), os.Rename(p.at("a"), p.at("d/b")), os.Symlink("d/b", p.at("l")))
	must(t, os.Chmod(p.at("d/b"), 0o600))
	if got, want := fmt.Sprint(p.found()), "map[d:folder d/b:2 l:d/b]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if info, err := os.Stat(p.at("l")); err != nil || info.Mode() != 0o600 || info.Size() != 1 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Remove(p.at("d")); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("a full folder is removed: %v", err)
	}
	f, err := os.Open(p.at("d/b"))
	must(t, err)
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX), f.Close())
	l, err := unix.Open(p.at("d"), unix.O_RDONLY, 0)
	must(t, err)
	must(t, unix.Mkfifoat(l, "fifo", 0o600), unix.Close(l))
	var names []string
	entries, err := os.ReadDir(p.at("d"))
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"b", "fifo"}) {
		t.Errorf("%q", names)
	}
}

// The contents of files that nothing can name any more are removed from the machine's disk.
func TestReap(t *testing.T) {
	d, folder := disk(t)
	p := program{t, folder}
	for i := range 5 {
		p.write("a", fmt.Sprint(i))
		p.write("tmp", fmt.Sprint(i))
		must(t, os.Rename(p.at("tmp"), p.at("a")))
		p.sync(".")
	}
	must(t, os.MkdirAll(p.at("d/e"), 0o755))
	p.write("d/e/f", "x")
	p.sync("d/e", "d", ".")
	must(t, os.RemoveAll(p.at("d")))
	p.sync(".")
	// The kernel closes and forgets files after the program has its answer, and waits for nothing then.
	deadline := time.Now().Add(20 * time.Second)
	for {
		objects, err := os.ReadDir(d.tree.objects)
		must(t, err)
		d.tree.mu.Lock()
		nodes := len(d.tree.nodes)
		d.tree.mu.Unlock()
		if len(objects) == 1 && nodes == 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d objects and %d nodes, want 1 and 2", len(objects), nodes)
		}
		time.Sleep(time.Millisecond) // and look again
	}
}

// A process that keeps a file open over the loss reads and writes nothing of the disk any more.
func TestOpenOverLoss(t *testing.T) {
	d, folder := disk(t)
	p := program{t, folder}
	p.write("a", "1")
	d.Settle()
	f, err := os.OpenFile(p.at("a"), os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("2"), 0)
	must(t, err)
	_, err = d.Lose(world.NamesLost)
	must(t, err)
	if _, err := f.WriteAt([]byte("3"), 0); err == nil {
		t.Error("a file from before the loss can be written")
	}
	if err := f.Sync(); err == nil {
		t.Error("a file from before the loss can be synced")
	}
	_ = f.Close() // the mount that it is on is gone
	if got := p.found()["a"]; got != "1" {
		t.Errorf("%q", got)
	}
}

// The markers show that a disk forgets what was not synced, and nothing else.
func TestLosePower(t *testing.T) {
	d, folder := disk(t)
	for range 2 {
		for _, names := range []world.Names{world.NamesLost, world.NamesKept} {
			must(t, os.WriteFile(filepath.Join(folder, "new"), []byte("12345"), 0o644))
			said, err := d.LosePower(names)
			if want := "lost 5 unsynced bytes of 1 files, "; err != nil || !strings.HasPrefix(said, want) {
				t.Errorf("%q, %v; want %s", said, err, want)
			}
		}
	}
	// A disk that forgets nothing, or everything, is no proof.
	must(t, d.mark("token"))
	if err := d.marked("token", world.NamesLost); err == nil || !strings.Contains(err.Error(), "is still there") {
		t.Errorf("the unsynced marker is there: %v", err)
	}
	must(t, os.Remove(filepath.Join(folder, unsyncedMarker)))
	if err := d.marked("other", world.NamesLost); err == nil || !strings.Contains(err.Error(), "was synced, and has") {
		t.Errorf("the synced marker has other contents: %v", err)
	}
}

// A full disk of the machine is an error of the program, not of the file system.
func TestFullDisk(t *testing.T) {
	needs.OrSkip(t, "fuse", Ready())
	small, folder := t.TempDir(), t.TempDir()
	needs.OrSkip(t, "mount", unix.Mount("tmpfs", small, "tmpfs", 0, "size=256k"))
	defer func() { must(t, unix.Unmount(small, 0)) }()
	d, err := Mount(folder, small, false)
	must(t, err)
	defer func() { must(t, d.Close()) }()
	p := program{t, folder}
	p.write("a", "1")
	d.Settle()
	if err := os.WriteFile(p.at("b"), make([]byte, 1<<20), 0o644); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want ENOSPC", err)
	}
	_, err = d.Lose(world.NamesLost)
	must(t, err)
	p.write("c", strings.Repeat("x", 100_000))
	if got := len(p.found()["c"]); got != 100_000 {
		t.Errorf("%d bytes after the loss made room", got)
	}
}

func TestReady(t *testing.T) {
	err := ready(filepath.Join(t.TempDir(), "fuse"), exec.LookPath)
	if err == nil || !strings.Contains(err.Error(), "modprobe fuse") {
		t.Errorf("without a device: %v", err)
	}
}
