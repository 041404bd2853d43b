package postgres

import (
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/service/operator"
	"lockbench/internal/testing/servicetest"
)

func TestService(t *testing.T) {
	servicetest.Suite{
		Service: Service,
		Versions: map[string]servicetest.Version{
			"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": {Text: "15.18", Enough: true},
			"postgres (PostgreSQL) 13beta1":                          {Text: "13beta1", Enough: true},
			"postgres (PostgreSQL) 12.4":                             {Text: "12.4"},
			"mariadbd  Ver 10.11.19-MariaDB":                         {},
		},
		URLs: []servicetest.Located{
			{URLs: "postgres://a", Addrs: "a:5432", Topology: "1 postgres", User: "postgres", Database: "postgres"},
			{URLs: "postgres+tls://app@a:1/shop", Addrs: "a:1", Topology: "1 postgres", User: "app", Database: "shop", TLS: true},
			{URLs: "postgresql://a", Addrs: "a:5432", Topology: "1 postgres", User: "postgres", Database: "postgres"},
			{URLs: "postgres://a,b", Refused: "name the primary"},
			{URLs: "postgres+ssl://a", Refused: "postgres+tls:// for TLS"},
			{URLs: "postgres://a/shop?sslmode=allow", Refused: "settings in a URL"},
			{URLs: "postgres://app:secret@a", Refused: "a password in a URL"},
		},
		Settings: servicetest.Settings{
			Topology: operator.Managed, Own: []string{operator.FailoverAfter},
			Line: func(_ service.Node, name, value string) string { return name + " = '" + value + "'" },
		},
	}.Run(t)
}
