//go:build unix

package wasm

import "golang.org/x/sys/unix"

// reserve reserves memory whose pages are allocated when they are touched.
func reserve(size int) (all []byte, release func([]byte) error, err error) {
	all, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	return all, unix.Munmap, err
}
