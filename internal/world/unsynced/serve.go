//go:build linux

package unsynced

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// mounted serves the requests of one mount. After a loss, a new mount serves the tree, and the old one, if a process
// has kept it open, answers everything with an error.
type mounted struct {
	fuse.RawFileSystem // what is not served
	tree               *tree

	mu      sync.Mutex
	gone    bool // the power was lost
	handles map[uint64]*handle
	next    uint64
}

// handle is an open file, or an open folder with the entries that it had.
type handle struct {
	node    *node
	file    *os.File
	entries []fuse.DirEntry
}

// cached is how long the kernel may cache names and attributes. They change through this mount only.
const cached = time.Hour

func newMounted(t *tree) *mounted {
	return &mounted{RawFileSystem: fuse.NewDefaultRawFileSystem(), tree: t, handles: map[uint64]*handle{}}
}

func (m *mounted) String() string { return "lockbench" }

// lose makes this mount useless.
func (m *mounted) lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = true
	for _, h := range m.handles {
		if h.file != nil {
			_ = h.file.Close()
		}
	}
	m.handles = nil
}

// with calls f with a node while the tree is locked.
func (m *mounted) with(id uint64, f func(n *node) fuse.Status) fuse.Status {
	m.mu.Lock()
	gone := m.gone
	m.mu.Unlock()
	if gone {
		return fuse.EIO
	}
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n := m.tree.nodes[id]
	if n == nil {
		return fuse.Status(syscall.ESTALE)
	}
	return f(n)
}

// open makes a handle; nil: the power was lost.
func (m *mounted) open(h *handle) (uint64, fuse.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return 0, fuse.EIO
	}
	m.next++
	m.handles[m.next] = h
	return m.next, fuse.OK
}

// using calls f with the file of a handle while its contents are locked.
func (m *mounted) using(fh uint64, f func(n *node, file *os.File) fuse.Status) fuse.Status {
	m.mu.Lock()
	h := m.handles[fh]
	m.mu.Unlock()
	if h == nil || h.file == nil {
		return fuse.EIO
	}
	h.node.contents.Lock()
	defer h.node.contents.Unlock()
	return f(h.node, h.file)
}

// status converts an error to its number.
func status(err error) fuse.Status {
	if err == nil {
		return fuse.OK
	}
	if number := syscall.Errno(0); errors.As(err, &number) {
		return fuse.Status(number)
	}
	return fuse.EIO
}

// describe fills in the attributes of a node. The tree must be locked.
func describe(n *node, a *fuse.Attr) {
	n.contents.Lock()
	size := n.size
	n.contents.Unlock()
	if n.target != "" {
		size = int64(len(n.target))
	}
	*a = fuse.Attr{Ino: n.id, Mode: n.mode, Nlink: uint32(n.names), Size: uint64(size), Blocks: uint64(size+511) / 512, Blksize: block}
	a.Uid, a.Gid = n.uid, n.gid
	if n.isDir() {
		a.Nlink = 2
	}
	a.SetTimes(&n.mtime, &n.mtime, &n.ctime)
}

func entry(n *node, out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.id, 1
	out.SetEntryTimeout(cached)
	out.SetAttrTimeout(cached)
	describe(n, &out.Attr)
}

func (m *mounted) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return m.with(in.NodeId, func(n *node) fuse.Status {
		out.SetTimeout(cached)
		describe(n, &out.Attr)
		return fuse.OK
	})
}

func (m *mounted) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return m.with(in.NodeId, func(n *node) fuse.Status {
		now := time.Now()
		if size, ok := in.GetSize(); ok {
			if err := m.resize(n, int64(size)); err != nil {
				return status(err)
			}
			n.mtime = now
		}
		if mode, ok := in.GetMode(); ok {
			n.mode = n.mode&syscall.S_IFMT | mode
		}
		if uid, ok := in.GetUID(); ok {
			n.uid = uid
		}
		if gid, ok := in.GetGID(); ok {
			n.gid = gid
		}
		if mtime, ok := in.GetMTime(); ok {
			n.mtime = mtime
		}
		n.ctime = now
		out.SetTimeout(cached)
		describe(n, &out.Attr)
		return fuse.OK
	})
}

// resize truncates a file that need not be open.
func (m *mounted) resize(n *node, size int64) error {
	f, err := os.OpenFile(m.tree.path(n), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	n.contents.Lock()
	defer n.contents.Unlock()
	return n.truncate(f, size)
}

func (m *mounted) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	return m.make(&in.InHeader, name, in.Mode&0o7777|syscall.S_IFREG, &out.EntryOut, func(n *node) error {
		return m.openFile(n, &out.OpenOut)
	})
}

func (m *mounted) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return m.with(in.NodeId, func(n *node) fuse.Status {
		if in.Flags&syscall.O_TRUNC != 0 {
			if err := m.resize(n, 0); err != nil {
				return status(err)
			}
		}
		return status(m.openFile(n, out))
	})
}

// openFile opens a file. The tree must be locked.
func (m *mounted) openFile(n *node, out *fuse.OpenOut) error {
	f, err := os.OpenFile(m.tree.path(n), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	fh, s := m.open(&handle{node: n, file: f})
	if s != fuse.OK {
		_ = f.Close()
		return syscall.Errno(s)
	}
	n.opens++
	out.Fh, out.OpenFlags = fh, fuse.FOPEN_KEEP_CACHE
	return nil
}

func (m *mounted) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	m.mu.Lock()
	h := m.handles[in.Fh]
	delete(m.handles, in.Fh)
	m.mu.Unlock()
	if h == nil {
		return
	}
	_ = h.file.Close()
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	if h.node.opens > 0 { // else the power was lost meanwhile
		h.node.opens--
		m.tree.reap(h.node)
	}
}

func (m *mounted) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (result fuse.ReadResult, s fuse.Status) {
	s = m.using(in.Fh, func(_ *node, f *os.File) fuse.Status {
		n, err := readFull(f, buf, int64(in.Offset))
		result = fuse.ReadResultData(buf[:n])
		return status(err)
	})
	return result, s
}

func (m *mounted) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (written uint32, s fuse.Status) {
	var file *node
	s = m.using(in.Fh, func(n *node, f *os.File) fuse.Status {
		file = n
		at := int64(in.Offset)
		if err := n.save(f, at, at+int64(len(data))); err != nil {
			return status(err)
		}
		done, err := f.WriteAt(data, at)
		n.size = max(n.size, at+int64(done))
		if err != nil && done == 0 {
			return status(err)
		}
		if in.Flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0 {
			n.undo, n.synced = nil, n.size
		}
		written = uint32(done)
		return fuse.OK
	})
	if s == fuse.OK {
		m.tree.mu.Lock()
		file.mtime = time.Now()
		m.tree.mu.Unlock()
	}
	return written, s
}

func (m *mounted) Writev(<-chan struct{}, *fuse.WriteIn, [][]byte) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS // Write is called
}

func (m *mounted) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	return m.using(in.Fh, func(n *node, f *os.File) fuse.Status {
		switch in.Mode {
		case 0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_PUNCH_HOLE:
		default:
			return fuse.Status(syscall.EOPNOTSUPP)
		}
		from, length := int64(in.Offset), int64(in.Length)
		if in.Mode&unix.FALLOC_FL_PUNCH_HOLE != 0 {
			if err := n.save(f, from, from+length); err != nil {
				return status(err)
			}
		}
		if err := unix.Fallocate(int(f.Fd()), in.Mode, from, length); err != nil {
			return status(err)
		}
		if in.Mode == 0 {
			n.size = max(n.size, from+length)
		}
		return fuse.OK
	})
}

func (m *mounted) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return m.with(in.NodeId, func(n *node) fuse.Status {
		n.sync()
		return fuse.OK
	})
}

func (m *mounted) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.ENOSYS } // the kernel checks modes

func (m *mounted) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	var s syscall.Statfs_t
	if err := syscall.Statfs(m.tree.objects, &s); err != nil {
		return status(err)
	}
	out.FromStatfsT(&s)
	return fuse.OK
}
