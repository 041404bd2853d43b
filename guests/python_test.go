//go:build unix

package guests

import "testing"

func TestPyPIOptions(t *testing.T) { sameOptions(t, "python/pypi") }
