//go:build !unix

package wasm

import "errors"

func reserve(int) (all []byte, release func([]byte) error, err error) {
	return nil, nil, errors.ErrUnsupported
}
