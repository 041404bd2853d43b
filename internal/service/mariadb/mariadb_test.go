package mariadb

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
			"mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n": {Text: "10.11.19", Enough: true},
			"/opt/mariadbd  Ver 11.4.2-MariaDB for Linux":                                           {Text: "11.4.2", Enough: true},
			"mysqld  Ver 10.4.34-MariaDB for Linux":                                                 {Text: "10.4.34"},
			"/usr/sbin/mysqld  Ver 8.0.40 for Linux on x86_64 (MySQL Community Server - GPL)":       {},
		},
		URLs: []servicetest.Located{
			{URLs: "mysql://a", Addrs: "a:3306", Topology: "1 mariadb", User: "root"},
			{URLs: "mysqls://app@a:1", Addrs: "a:1", Topology: "1 mariadb", User: "app", TLS: true},
			{URLs: "mariadb://a", Addrs: "a:3306", Topology: "1 mariadb", User: "root"},
			{URLs: "mariadbs://a", Addrs: "a:3306", Topology: "1 mariadb", User: "root", TLS: true},
			{URLs: "mysql://a,b", Refused: "name the primary"},
			{URLs: "mysql+tls://a", Refused: "mysqls:// for TLS"},
			{URLs: "mysql://a/shop", Refused: "/shop cannot be used"},
			{URLs: "mysql://a?tls=true", Refused: "not a HOST"},
			{URLs: "mysql://app:secret@a", Refused: "a password in a URL"},
			{URLs: "mysql://a mysql://b", Refused: "name the primary"},
			{URLs: "mysql://a mysqls://b:1", Refused: "the same scheme"},
		},
		Settings: servicetest.Settings{
			Topology: operator.Managed, Own: []string{operator.FailoverAfter, semiSync},
			Line: func(_ service.Node, name, value string) string { return "--" + name + "=" + value },
		},
	}.Run(t)
}
