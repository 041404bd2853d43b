//go:build linux

package unsynced

import (
	"maps"
	"os"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// This file has the requests about names: directories, links and renames. serve.go has those about files.

func (m *mounted) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return m.with(in.NodeId, func(dir *node) fuse.Status {
		n := dir.children[name]
		if n == nil {
			return fuse.ENOENT
		}
		entry(n, out)
		return fuse.OK
	})
}

// make makes a node with a name, for Mknod, Mkdir, Symlink and Create.
func (m *mounted) make(in *fuse.InHeader, name string, mode uint32, out *fuse.EntryOut, more func(*node) error) fuse.Status {
	return m.with(in.NodeId, func(dir *node) fuse.Status {
		if dir.children[name] != nil {
			return fuse.Status(syscall.EEXIST)
		}
		if dir.names == 0 {
			return fuse.ENOENT
		}
		n := m.tree.add(mode, in.Uid, in.Gid)
		var err error
		if n.isFile() {
			var f *os.File
			if f, err = os.OpenFile(m.tree.path(n), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
				err = f.Close()
			}
		}
		if err == nil && more != nil {
			err = more(n)
		}
		if err != nil {
			m.tree.reap(n)
			return status(err)
		}
		m.tree.link(dir, name, n)
		entry(n, out)
		return fuse.OK
	})
}

func (m *mounted) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.make(&in.InHeader, name, in.Mode, out, nil)
}

func (m *mounted) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.make(&in.InHeader, name, in.Mode&0o7777|syscall.S_IFDIR, out, nil)
}

func (m *mounted) Symlink(_ <-chan struct{}, in *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return m.make(in, name, syscall.S_IFLNK|0o777, out, func(n *node) error {
		n.target = target
		return nil
	})
}

func (m *mounted) Readlink(_ <-chan struct{}, in *fuse.InHeader) (target []byte, s fuse.Status) {
	s = m.with(in.NodeId, func(n *node) fuse.Status {
		target = []byte(n.target)
		return fuse.OK
	})
	return target, s
}

func (m *mounted) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return m.with(in.NodeId, func(dir *node) fuse.Status {
		n := dir.children[name]
		if n == nil {
			return fuse.ENOENT
		}
		m.tree.unlink(dir, name)
		return fuse.OK
	})
}

func (m *mounted) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return m.with(in.NodeId, func(dir *node) fuse.Status {
		n := dir.children[name]
		switch {
		case n == nil:
			return fuse.ENOENT
		case !n.isDir():
			return fuse.ENOTDIR
		case len(n.children) > 0:
			return fuse.Status(syscall.ENOTEMPTY)
		}
		m.tree.unlink(dir, name)
		return fuse.OK
	})
}

func (m *mounted) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	return m.with(in.NodeId, func(dir *node) fuse.Status {
		into, n := m.tree.nodes[in.Newdir], dir.children[from]
		if into == nil || n == nil {
			return fuse.ENOENT
		}
		old := into.children[to]
		switch {
		case in.Flags&^unix.RENAME_NOREPLACE != 0:
			return fuse.EINVAL
		case old == n:
			return fuse.OK
		case old != nil && in.Flags != 0:
			return fuse.Status(syscall.EEXIST)
		case old != nil && old.isDir() && len(old.children) > 0:
			return fuse.Status(syscall.ENOTEMPTY)
		case old != nil:
			m.tree.unlink(into, to)
		}
		m.tree.link(into, to, n)
		m.tree.unlink(dir, from)
		return fuse.OK
	})
}

func (m *mounted) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.with(in.NodeId, func(dir *node) fuse.Status {
		n := m.tree.nodes[in.Oldnodeid]
		switch {
		case n == nil:
			return fuse.ENOENT
		case dir.children[name] != nil:
			return fuse.Status(syscall.EEXIST)
		}
		m.tree.link(dir, name, n)
		entry(n, out)
		return fuse.OK
	})
}

func (m *mounted) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return m.with(in.NodeId, func(n *node) fuse.Status {
		m.tree.settleNames(n)
		return fuse.OK
	})
}

func (m *mounted) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return m.with(in.NodeId, func(dir *node) (s fuse.Status) {
		entries := []fuse.DirEntry{{Name: ".", Mode: syscall.S_IFDIR, Ino: dir.id}, {Name: "..", Mode: syscall.S_IFDIR}}
		for _, name := range slices.Sorted(maps.Keys(dir.children)) {
			n := dir.children[name]
			entries = append(entries, fuse.DirEntry{Name: name, Mode: n.mode, Ino: n.id})
		}
		out.Fh, s = m.open(&handle{node: dir, entries: entries})
		return s
	})
}

func (m *mounted) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	m.mu.Lock()
	h := m.handles[in.Fh]
	m.mu.Unlock()
	if h == nil {
		return fuse.EIO
	}
	for i := in.Offset; i < uint64(len(h.entries)); i++ {
		e := h.entries[i]
		e.Off = i + 1
		if !out.AddDirEntry(e) {
			break
		}
	}
	return fuse.OK
}

func (m *mounted) ReleaseDir(in *fuse.ReleaseIn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.handles, in.Fh)
}
