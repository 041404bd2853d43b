package postgres

import (
	"testing"

	"lockbench/internal/testing/servicetest"
)

func TestVersion(t *testing.T) {
	servicetest.Versions(t, Service, map[string]servicetest.Version{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": {Text: "15.18", Enough: true},
		"postgres (PostgreSQL) 13beta1":                          {Text: "13beta1", Enough: true},
		"postgres (PostgreSQL) 12.4":                             {Text: "12.4"},
		"mariadbd  Ver 10.11.19-MariaDB":                         {},
	})
}
