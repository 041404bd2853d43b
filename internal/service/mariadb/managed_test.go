//go:build linux

package mariadb

import (
	"testing"

	"lockbench/internal/testing/servicetest"
)

var managed = servicetest.Managed{
	Service: Service,
	Write:   "CREATE TABLE test.mark (n INT)",
	Read:    "INSERT INTO test.mark VALUES (1)",
}

func TestSingle(t *testing.T)  { managed.Restarts(t) }
func TestManaged(t *testing.T) { managed.FailsOver(t) }
