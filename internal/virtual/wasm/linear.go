package wasm

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
)

// memoryMax bounds the memory of one program. One that wants more probably leaks.
const memoryMax = 256 << 20

// withMemory makes the programs of a context use memory outside of the garbage-collected heap. There it would be
// live as long as its client, and the heap would grow to a multiple of it.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		most = min(most, memoryMax)
		all, release, err := reserve(int(most))
		if err != nil {
			all, release = make([]byte, most), func([]byte) error { return nil }
		}
		return &reserved{all, release}
	}))
}

// reserved is memory whose pages are allocated when they are touched.
type reserved struct {
	all     []byte
	release func([]byte) error
}

func (r *reserved) Reallocate(size uint64) []byte {
	if size > uint64(len(r.all)) {
		return nil
	}
	return r.all[:size:size]
}

func (r *reserved) Free() {
	_ = r.release(r.all) // else it is freed at the end of the process
	r.all = nil
}
