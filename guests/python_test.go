//go:build unix

package guests

import "testing"

func TestPyPI(t *testing.T) { conformAndSteady(t, "redis-py-pypi") }

func TestPyPIOptions(t *testing.T) { sameOptions(t, "python/pypi") }
