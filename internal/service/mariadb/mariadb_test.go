package mariadb

import (
	"testing"

	"lockbench/internal/testing/servicetest"
)

func TestVersion(t *testing.T) {
	servicetest.Versions(t, Service, map[string]servicetest.Version{
		"mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n": {Text: "10.11.19", Enough: true},
		"/opt/mariadbd  Ver 11.4.2-MariaDB for Linux":                                           {Text: "11.4.2", Enough: true},
		"mysqld  Ver 10.4.34-MariaDB for Linux":                                                 {Text: "10.4.34"},
		"/usr/sbin/mysqld  Ver 8.0.40 for Linux on x86_64 (MySQL Community Server - GPL)":       {},
	})
}
