package wasm

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
)

// memoryMax bounds the memory of one program: one that wants more has no end, most likely.
const memoryMax = 256 << 20

// withMemory lets the programs of a context have memory outside of the collector's heap.
// There it would be live for as long as its client, and the collector waits until the heap
// is a multiple of what is live.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		most = min(most, memoryMax)
		if all, release, err := reserve(int(most)); err == nil {
			return &reserved{all, release}
		}
		return &onHeap{most: most}
	}))
}

// reserved is memory of which the system gives what is touched.
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
	_ = r.release(r.all) // what cannot be given back is gone with the process
	r.all = nil
}

// onHeap is memory where a system reserves none.
type onHeap struct {
	most uint64
	all  []byte
}

func (h *onHeap) Reallocate(size uint64) []byte {
	if size > h.most {
		return nil
	}
	if size > uint64(cap(h.all)) {
		grown := make([]byte, size, min(h.most, size+size/2))
		copy(grown, h.all)
		h.all = grown
	}
	h.all = h.all[:size]
	return h.all
}

func (h *onHeap) Free() { h.all = nil }
