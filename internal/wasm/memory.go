package wasm

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

var littleEndian = binary.LittleEndian

// memory is that of the program. What it points to may lie anywhere, also outside.
type memory struct{ api.Memory }

// ptr is a 32-bit argument: its upper half holds anything.
func ptr(arg uint64) uint32 { return uint32(arg) }

func (m memory) putUint32(at uint32, x uint32) errno {
	if !m.WriteUint32Le(at, x) {
		return errFault
	}
	return errNone
}

func (m memory) putUint64(at uint32, x uint64) errno {
	if !m.WriteUint64Le(at, x) {
		return errFault
	}
	return errNone
}

func (m memory) put(at uint32, b []byte) errno {
	if !m.Write(at, b) {
		return errFault
	}
	return errNone
}

// buffersMax bounds the buffers of one call, as kernels do.
const buffersMax = 1024

// buffers are the pieces that an array of n pairs of address and length names.
func (m memory) buffers(at, n uint32) (all [][]byte, e errno) {
	if n > buffersMax {
		return nil, errInval
	}
	pairs, ok := m.Read(at, 8*n)
	if !ok {
		return nil, errFault
	}
	for ; len(pairs) > 0; pairs = pairs[8:] {
		b, ok := m.Read(littleEndian.Uint32(pairs), littleEndian.Uint32(pairs[4:]))
		if !ok {
			return nil, errFault
		}
		if len(b) > 0 {
			all = append(all, b)
		}
	}
	return all, errNone
}

// strings writes texts one behind the other, and where each of them begins.
func (m memory) strings(texts []string, at, data uint32) errno {
	for _, text := range texts {
		if e := m.putUint32(at, data); e != errNone {
			return e
		}
		if e := m.put(data, append([]byte(text), 0)); e != errNone {
			return e
		}
		at, data = at+4, data+uint32(len(text)+1)
	}
	return errNone
}

// stringSizes writes how many texts there are, and how much room they take.
func (m memory) stringSizes(texts []string, count, size uint32) errno {
	all := 0
	for _, text := range texts {
		all += len(text) + 1
	}
	if e := m.putUint32(count, uint32(len(texts))); e != errNone {
		return e
	}
	return m.putUint32(size, uint32(all))
}
