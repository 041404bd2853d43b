//go:build linux

package unsynced

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"lockbench/internal/world"
)

// tree is the state of a Disk: all inodes, with their current and their durable form.
type tree struct {
	objects string // the folder of the contents, by the number of the inode

	mu    sync.Mutex
	nodes map[uint64]*node
	next  uint64
}

// node is one file, folder, symbolic link or socket.
type node struct {
	id uint64
	// The fields up to durable are guarded by tree.mu.
	mode         uint32 // with the type
	uid, gid     uint32
	mtime, ctime time.Time
	names        int // current entries that name it
	kept         int // durable entries that name it
	opens        int
	target       string // of a symbolic link
	children     map[string]*node
	durable      map[string]*node

	contents sync.Mutex // held while a file is read or written; taken after tree.mu
	size     int64
	synced   int64            // the durable size
	undo     map[int64][]byte // the durable contents of overwritten blocks, by number
}

// block is the unit in which overwritten contents are saved.
const block = 4096

const rootID = 1

func newTree(objects string, uid, gid uint32) *tree {
	t := &tree{objects: objects, nodes: map[uint64]*node{}}
	root := t.add(syscall.S_IFDIR|0o755, uid, gid)
	root.names, root.kept = 1, 1
	return t
}

// add makes a node without a name. t.mu must be held, or t be new.
func (t *tree) add(mode, uid, gid uint32) *node {
	t.next++
	now := time.Now()
	n := &node{id: t.next, mode: mode, uid: uid, gid: gid, mtime: now, ctime: now}
	if n.isDir() {
		n.children, n.durable = map[string]*node{}, map[string]*node{}
	}
	t.nodes[n.id] = n
	return n
}

func (n *node) isDir() bool  { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }
func (n *node) isFile() bool { return n.mode&syscall.S_IFMT == syscall.S_IFREG }

func (t *tree) path(n *node) string { return filepath.Join(t.objects, fmt.Sprint(n.id)) }

// link gives a node a current name. t.mu must be held.
func (t *tree) link(dir *node, name string, n *node) {
	dir.children[name] = n
	n.names++
	dir.mtime = time.Now()
	n.ctime = dir.mtime
}

// unlink removes a current name. t.mu must be held.
func (t *tree) unlink(dir *node, name string) {
	n := dir.children[name]
	delete(dir.children, name)
	n.names--
	dir.mtime = time.Now()
	n.ctime = dir.mtime
	t.reap(n)
}

// reap forgets a node that neither a name nor an open file needs. t.mu must be held.
func (t *tree) reap(n *node) {
	if n.names > 0 || n.kept > 0 || n.opens > 0 || t.nodes[n.id] == nil {
		return
	}
	delete(t.nodes, n.id)
	for _, child := range n.durable {
		child.kept--
		t.reap(child)
	}
	if n.isFile() {
		_ = os.Remove(t.path(n)) // it may never have been made
	}
}

// settleNames makes the entries of a folder durable. t.mu must be held.
func (t *tree) settleNames(dir *node) {
	old := dir.durable
	dir.durable = maps.Clone(dir.children)
	for _, n := range dir.durable {
		n.kept++
	}
	for _, n := range old {
		n.kept--
		t.reap(n)
	}
}

// settle makes everything durable.
func (t *tree) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range slices.Collect(maps.Values(t.nodes)) {
		if n.isDir() {
			t.settleNames(n)
		}
		n.sync()
	}
}

// sync makes the contents of a file durable.
func (n *node) sync() {
	n.contents.Lock()
	defer n.contents.Unlock()
	n.undo, n.synced = nil, n.size
}

// save keeps the durable contents of a range that is about to change. n.contents must be held.
func (n *node) save(f *os.File, from, to int64) error {
	for b, last := from/block, min(to, n.synced); b*block < last; b++ {
		if n.undo[b] != nil {
			continue
		}
		old := make([]byte, min(block, n.synced-b*block))
		if _, err := readFull(f, old, b*block); err != nil {
			return err
		}
		if n.undo == nil {
			n.undo = map[int64][]byte{}
		}
		n.undo[b] = old
	}
	return nil
}

// truncate changes the size of a file. n.contents must be held.
func (n *node) truncate(f *os.File, size int64) error {
	if size < n.size {
		if err := n.save(f, size, n.synced); err != nil {
			return err
		}
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	n.size = size
	return nil
}

// Lost is what a loss of power took.
type Lost struct {
	Files int // whose contents or names were lost
	Bytes int64
}

// lose replaces the current state by the durable one. Open files are forgotten.
func (t *tree) lose(names world.Names) (lost Lost, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := slices.Collect(maps.Values(t.nodes))
	named := map[*node]bool{}
	for _, n := range before {
		named[n] = n.names > 0
		n.names, n.kept, n.opens = 0, 0, 0
	}
	root := t.nodes[rootID]
	root.names, root.kept = 1, 1
	var errs []error
	changed := map[*node]bool{}
	seen := map[*node]bool{root: true}
	for next := []*node{root}; len(next) > 0; {
		dir := next[0]
		next = next[1:]
		is := dir.durable
		if names == world.NamesKept {
			is = dir.children
		}
		for name, n := range dir.children {
			if is[name] != n {
				changed[n] = true
			}
		}
		dir.children, dir.durable = map[string]*node{}, map[string]*node{}
		for _, name := range slices.Sorted(maps.Keys(is)) {
			n := is[name]
			if n.isDir() {
				// A folder that was moved can be durable in its old and its new place; it is in one.
				if seen[n] {
					continue
				}
				next = append(next, n)
			} else if n.isFile() && !seen[n] {
				bytes, err := t.restore(n)
				if errs = append(errs, err); bytes > 0 {
					changed[n] = true
				}
				lost.Bytes += bytes
			}
			seen[n] = true
			dir.children[name], dir.durable[name] = n, n
			n.names++
			n.kept++
		}
	}
	for _, n := range before {
		if !seen[n] {
			if n.isFile() && named[n] {
				lost.Bytes += n.size
				changed[n] = true
			}
			n.durable = nil // its entries were counted from the root
			t.reap(n)
		}
	}
	for n := range changed {
		if !n.isDir() {
			lost.Files++
		}
	}
	return lost, errors.Join(errs...)
}

// restore gives a file its durable contents, and returns how many bytes differ at most.
func (t *tree) restore(n *node) (bytes int64, err error) {
	n.contents.Lock()
	defer n.contents.Unlock()
	if n.undo == nil && n.size == n.synced {
		return 0, nil
	}
	f, err := os.OpenFile(t.path(n), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	bytes = max(n.size-n.synced, 0)
	for b, old := range n.undo {
		bytes += int64(len(old))
		if _, err := f.WriteAt(old, b*block); err != nil {
			return bytes, err
		}
	}
	if err := f.Truncate(n.synced); err != nil {
		return bytes, err
	}
	n.undo, n.size = nil, n.synced
	return bytes, nil
}

// readFull reads as much as there is and fills the rest with zeros, as in a hole.
func readFull(f *os.File, p []byte, at int64) (n int, err error) {
	for n < len(p) {
		m, err := syscall.Pread(int(f.Fd()), p[n:], at+int64(n))
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	clear(p[n:])
	return n, nil
}
