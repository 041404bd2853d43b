package wasm

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

var littleEndian = binary.LittleEndian

// memory is the program's memory. Pointers may be out of bounds.
type memory struct{ api.Memory }

// ptr is a 32-bit argument, whose upper half is undefined.
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

// buffers returns the buffers in an array of n pairs of address and length.
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
