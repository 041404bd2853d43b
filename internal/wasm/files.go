package wasm

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// The descriptors that are open at the start.
const (
	stdin    = 0
	stdout   = 1
	stderr   = 2
	rootDir  = 3
	firstNew = 4
)

// The kinds of files, and a flag.
const (
	kindCharacter = 2
	kindDirectory = 3
	kindSocket    = 6
	flagNonblock  = 4
	allRights     = 1<<30 - 1
)

// netFolder is the directory in which opening HOST:PORT connects.
const netFolder = "net/"

// input is the standard input.
type input struct {
	data     []byte
	ended    bool
	nonblock bool
}

// output is the standard output, or the standard error.
type output struct{}

// directory is the root directory.
type directory struct{}

// connection is an open socket.
type connection struct {
	socket   Socket
	nonblock bool
}

func newFiles() map[int32]any {
	return map[int32]any{stdout: output{}, stderr: output{}, rootDir: directory{}}
}

// file returns the file of a descriptor, or nil.
func (v *Machine) file(fd uint64) any {
	if ptr(fd) == stdin {
		return &v.input
	}
	return v.files[int32(ptr(fd))]
}

// open assigns a connection the lowest free number, as kernels do.
func (v *Machine) open(s Socket, nonblock bool) int32 {
	fd := int32(firstNew)
	for _, used := range slices.Sorted(maps.Keys(v.files)) {
		if used == fd {
			fd++
		}
	}
	v.files[fd] = &connection{s, nonblock}
	return fd
}

func (v *Machine) closeFile(fd int32) errno {
	f, open := v.files[fd]
	if !open {
		return errBadF
	}
	delete(v.files, fd)
	if c, ok := f.(*connection); ok {
		c.socket.Close()
	}
	return errNone
}

// pathOpen begins a connection. There are no other files.
func pathOpen(v *Machine, m memory, s []uint64) errno {
	if _, ok := v.file(s[0]).(directory); !ok {
		return errNotDir
	}
	path, ok := m.Read(ptr(s[2]), ptr(s[3]))
	if !ok {
		return errFault
	}
	addr, ok := strings.CutPrefix(strings.TrimPrefix(string(path), "./"), netFolder)
	if !ok {
		return errNoEnt
	}
	fd := v.open(v.outside.Dial(addr), ptr(s[7])&flagNonblock != 0)
	return m.putUint32(ptr(s[8]), uint32(fd))
}

// fdRead reads available bytes. If there are none, it waits: programs without a scheduler wait here.
func fdRead(v *Machine, m memory, s []uint64) errno {
	buffers, e := m.buffers(ptr(s[1]), ptr(s[2]))
	if e != errNone {
		return e
	}
	n, e := v.read(s[0], buffers)
	if e != errNone {
		return e
	}
	return m.putUint32(ptr(s[3]), uint32(n))
}

func (v *Machine) read(fd uint64, buffers [][]byte) (n int, e errno) {
	for {
		nonblock := true
		switch f := v.file(fd).(type) {
		case *input:
			n, e = f.read(buffers)
			nonblock = f.nonblock
		case *connection:
			n, e = f.read(buffers)
			nonblock = f.nonblock
		case nil:
			return 0, errBadF
		default:
			return 0, errInval
		}
		if e != errAgain || nonblock {
			return n, e
		}
		v.park(wait{})
	}
}

func (f *input) read(buffers [][]byte) (n int, e errno) {
	for _, b := range buffers {
		n += copy(b, f.data[n:])
	}
	f.data = f.data[n:]
	if len(f.data) == 0 {
		f.data = nil
	}
	if n == 0 && len(buffers) > 0 && !f.ended {
		return 0, errAgain
	}
	return n, errNone
}

func (c *connection) read(buffers [][]byte) (int, errno) {
	if len(buffers) == 0 {
		return 0, errNone
	}
	n, err := c.socket.Read(buffers[0])
	return n, errnoOf(err)
}

// fdWrite writes all of its data. Without data, it returns the state of a connection.
func fdWrite(v *Machine, m memory, s []uint64) errno {
	buffers, e := m.buffers(ptr(s[1]), ptr(s[2]))
	if e != errNone {
		return e
	}
	n, e := v.write(s[0], bytes.Join(buffers, nil))
	if e != errNone {
		return e
	}
	return m.putUint32(ptr(s[3]), uint32(n))
}

func (v *Machine) write(fd uint64, b []byte) (int, errno) {
	for {
		switch f := v.file(fd).(type) {
		case output:
			v.print(ptr(fd), b)
			return len(b), errNone
		case *connection:
			n, err := f.socket.Write(b)
			if e := errnoOf(err); e != errAgain || f.nonblock {
				return n, e
			}
		case nil:
			return 0, errBadF
		default:
			return 0, errInval
		}
		v.park(wait{})
	}
}

// logLineMax bounds an unfinished line of standard error.
const logLineMax = 64 << 10

func (v *Machine) print(fd uint32, b []byte) {
	if fd == stdout {
		v.program.Output(b)
		return
	}
	for _, c := range b {
		if c == '\n' || v.said.Len() >= logLineMax {
			v.flushLog()
		}
		if c != '\n' {
			v.said.WriteByte(c)
		}
	}
}

// kind returns the kind and the flags of a file.
func (v *Machine) kind(fd uint64) (kind byte, flags uint16, e errno) {
	nonblock := false
	switch f := v.file(fd).(type) {
	case *input:
		kind, nonblock = kindCharacter, f.nonblock
	case output:
		kind = kindCharacter
	case directory:
		kind = kindDirectory
	case *connection:
		kind, nonblock = kindSocket, f.nonblock
	default:
		return 0, 0, errBadF
	}
	if nonblock {
		flags = flagNonblock
	}
	return kind, flags, errNone
}

func fdStatGet(v *Machine, m memory, s []uint64) errno {
	kind, flags, e := v.kind(s[0])
	if e != errNone {
		return e
	}
	var b [24]byte
	b[0] = kind
	littleEndian.PutUint16(b[2:], flags)
	littleEndian.PutUint64(b[8:], allRights)
	littleEndian.PutUint64(b[16:], allRights)
	return m.put(ptr(s[1]), b[:])
}

func fdFilestatGet(v *Machine, m memory, s []uint64) errno {
	kind, _, e := v.kind(s[0])
	if e != errNone {
		return e
	}
	var b [64]byte
	b[16] = kind
	b[24] = 1 // name of it
	return m.put(ptr(s[1]), b[:])
}

func fdStatSetFlags(v *Machine, _ memory, s []uint64) errno {
	nonblock := ptr(s[1])&flagNonblock != 0
	switch f := v.file(s[0]).(type) {
	case *input:
		f.nonblock = nonblock
	case *connection:
		f.nonblock = nonblock
	case nil:
		return errBadF
	}
	return errNone
}

// sockRecv and sockSend read and write sockets.
func sockRecv(v *Machine, m memory, s []uint64) errno {
	if _, ok := v.file(s[0]).(*connection); !ok {
		return errNotSock
	}
	e := fdRead(v, m, []uint64{s[0], s[1], s[2], s[4]})
	if e != errNone {
		return e
	}
	return m.put(ptr(s[5]), []byte{0, 0})
}

func sockSend(v *Machine, m memory, s []uint64) errno {
	if _, ok := v.file(s[0]).(*connection); !ok {
		return errNotSock
	}
	return fdWrite(v, m, []uint64{s[0], s[1], s[2], s[4]})
}
