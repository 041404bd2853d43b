//go:build !wasip1

package guest

import "os"

func standardInput() (*os.File, error) { return os.Stdin, nil }
