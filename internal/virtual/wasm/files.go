package wasm

import (
	"bytes"
	"strings"
	"syscall"
)

// The descriptors that are open at the start. rootDir is /, the only directory.
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

// file is an open file. Standard input and output behave like sockets; the directory has none.
type file struct {
	kind     byte
	socket   Socket
	nonblock bool
}

// newFiles returns the files that are open at the start.
func (v *Machine) newFiles() map[int32]*file {
	return map[int32]*file{
		stdin:   {kind: kindCharacter, socket: &v.input},
		stdout:  {kind: kindCharacter, socket: output(v.program.Output)},
		stderr:  {kind: kindCharacter, socket: output(v.logLines)},
		rootDir: {kind: kindDirectory},
	}
}

// input is the standard input.
type input struct {
	data  []byte
	ended bool
}

func (f *input) Read(b []byte) (int, error) {
	if len(f.data) == 0 && !f.ended {
		return 0, ErrAgain
	}
	n := copy(b, f.data)
	if f.data = f.data[n:]; len(f.data) == 0 {
		f.data = nil
	}
	return n, nil
}

func (f *input) Write([]byte) (int, error) { return 0, syscall.EINVAL }
func (f *input) Readable() bool            { return f.ended || len(f.data) > 0 }
func (f *input) Writable() bool            { return false }
func (f *input) Close()                    {}

// output is the standard output, or the standard error.
type output func([]byte)

func (output) Read([]byte) (int, error) { return 0, syscall.EINVAL }
func (output) Readable() bool           { return true }
func (output) Writable() bool           { return true }
func (output) Close()                   {}

func (f output) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// logLineMax bounds an unfinished line of standard error.
const logLineMax = 64 << 10

// logLines logs the standard error in lines.
func (v *Machine) logLines(b []byte) {
	for _, c := range b {
		if c == '\n' || v.said.Len() >= logLineMax {
			v.flushLog()
		}
		if c != '\n' {
			v.said.WriteByte(c)
		}
	}
}

// file returns the file of a descriptor, or nil.
func (v *Machine) file(fd uint64) *file { return v.files[int32(ptr(fd))] }

func (v *Machine) closeFile(fd int32) errno {
	f := v.files[fd]
	if f == nil {
		return errBadF
	}
	delete(v.files, fd)
	if f.socket != nil {
		f.socket.Close()
	}
	return errNone
}

// pathOpen begins a connection, with the lowest free number, as in kernels. There are no other files.
func pathOpen(v *Machine, m memory, s []uint64) errno {
	if f := v.file(s[0]); f == nil || f.kind != kindDirectory {
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
	fd := int32(firstNew)
	for v.files[fd] != nil {
		fd++
	}
	v.files[fd] = &file{kindSocket, v.outside.Dial(addr), ptr(s[7])&flagNonblock != 0}
	return m.putUint32(ptr(s[8]), uint32(fd))
}

// fdRead reads available bytes, possibly fewer than the program wants.
func fdRead(v *Machine, m memory, s []uint64) errno {
	buffers, e := m.buffers(ptr(s[1]), ptr(s[2]))
	if e != errNone {
		return e
	}
	return v.transfer(m, s, func(from Socket) (int, error) {
		if len(buffers) == 0 {
			return 0, nil
		}
		return from.Read(buffers[0])
	})
}

// fdWrite writes all of its data. Without data, it returns the state of a connection.
func fdWrite(v *Machine, m memory, s []uint64) errno {
	buffers, e := m.buffers(ptr(s[1]), ptr(s[2]))
	if e != errNone {
		return e
	}
	b := bytes.Join(buffers, nil)
	return v.transfer(m, s, func(to Socket) (int, error) { return to.Write(b) })
}

// transfer reads or writes a file and stores the number of bytes. If that is not possible yet, it waits: programs
// without a scheduler wait here.
func (v *Machine) transfer(m memory, s []uint64, do func(Socket) (int, error)) errno {
	for {
		f := v.file(s[0])
		switch {
		case f == nil:
			return errBadF
		case f.socket == nil:
			return errInval
		}
		n, err := do(f.socket)
		switch e := errnoOf(err); {
		case e == errNone:
			return m.putUint32(ptr(s[3]), uint32(n))
		case e != errAgain || f.nonblock:
			return e
		}
		v.park(wait{})
	}
}

func fdStatGet(v *Machine, m memory, s []uint64) errno {
	f := v.file(s[0])
	if f == nil {
		return errBadF
	}
	var b [24]byte
	b[0] = f.kind
	if f.nonblock {
		b[2] = flagNonblock
	}
	littleEndian.PutUint64(b[8:], allRights)
	littleEndian.PutUint64(b[16:], allRights)
	return m.put(ptr(s[1]), b[:])
}

func fdFilestatGet(v *Machine, m memory, s []uint64) errno {
	f := v.file(s[0])
	if f == nil {
		return errBadF
	}
	var b [64]byte
	b[16] = f.kind
	b[24] = 1 // the number of links
	return m.put(ptr(s[1]), b[:])
}

func fdStatSetFlags(v *Machine, _ memory, s []uint64) errno {
	f := v.file(s[0])
	if f == nil {
		return errBadF
	}
	f.nonblock = ptr(s[1])&flagNonblock != 0
	return errNone
}

// sockRecv and sockSend read and write sockets.
func sockRecv(v *Machine, m memory, s []uint64) errno {
	if f := v.file(s[0]); f == nil || f.kind != kindSocket {
		return errNotSock
	}
	e := fdRead(v, m, []uint64{s[0], s[1], s[2], s[4]})
	if e != errNone {
		return e
	}
	return m.put(ptr(s[5]), []byte{0, 0})
}

func sockSend(v *Machine, m memory, s []uint64) errno {
	if f := v.file(s[0]); f == nil || f.kind != kindSocket {
		return errNotSock
	}
	return fdWrite(v, m, []uint64{s[0], s[1], s[2], s[4]})
}
