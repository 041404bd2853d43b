// Package mariadb is MariaDB as a lock service: one server, or a primary with two replicas that follow
// its binary log, asynchronously or semi-synchronously.
//
// Lockbench queries servers directly in SQL. All of them begin with a copy of the same data, so a
// replica needs no dump, and one that lost its data replays everything again.
package mariadb

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"lockbench/internal/service"
	"lockbench/internal/service/operator"
)

// Name is the name of the service and the prefix of its nodes and endpoints.
const Name = "mariadb"

// Keys of [locks.Store.Params].
const (
	User     = "user"
	Password = "password" // absent if the user needs none
	Database = "database"
)

const (
	user     = "root"
	database = "test" // which every installation has
)

// semiSync is the setting that makes a commit wait until a replica has received it.
const semiSync = "semi-sync"

var topologies = operator.Topologies(Name)

// sbin are where the programs are searched in addition to PATH.
var sbin = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"}

//go:embed settings.txt
var settingsText string

// Service is MariaDB.
var Service = &service.Service{
	Name: Name, Topologies: topologies, Settings: service.ReadSettings(settingsText),
	Needs: service.Needs{
		Programs: []service.Executable{
			{Name: "mariadbd", Package: "mariadb-server-core", Dirs: sbin},
			{Name: "mariadb-install-db", Package: "mariadb-server-core"},
			// The program above calls this one.
			{Name: "my_print_defaults", Package: "mariadb-client-core"},
			{Name: "sed", Package: "sed"},
			{Name: "dirname", Package: "coreutils"},
			{Name: "uname", Package: "coreutils"},
			{Name: "bash", Package: "bash"},
		},
		Install: "install one (on Debian or Ubuntu: apt-get install mariadb-server-core mariadb-client-core, which start nothing), " +
			"or name its program mariadbd with --server mariadb=PATH",
		VersionArgs: []string{"--no-defaults", "--version"},
		Version:     version,
		Least:       fmt.Sprintf("%d.%d", majorMin, minorMin),
		Files:       files,
		Shell:       service.Shell{Ping: shellPing, Pong: []byte("\n10.5.0-" + greeting + strings.Repeat(" ", 40))},
		Seed:        seed,
	},
	Program: program,
	Open: func(t service.Topology, h service.Host) service.Servers {
		return newServers(t, h, service.Credentials{User: user}, database)
	},
	Wire: service.Wire{
		Unread: errors.New("clients of MariaDB send one message for a statement or several, which lockbench does not read"),
	},
	External: service.External{
		Schemes: urls.Schemes(), Locate: urls.Locate, Login: startTLS, Survey: survey, Open: openExternal,
	},
}

// The first version that is known to work: it has positions of transactions for each replica, and
// built-in semi-synchronous replication.
const majorMin, minorMin = 10, 5

var version = service.VersionReader(`\bVer ((\d+)\.(\d+)\.\d+)-MariaDB`, "a mariadbd", majorMin, minorMin)

// files returns the files that the programs look for at fixed places.
func files(mariadbd string) []string {
	home := filepath.Dir(filepath.Dir(mariadbd))
	share := filepath.Join(home, "share", "mysql")
	return []string{
		mariadbd, filepath.Join(home, "bin", "my_print_defaults"), filepath.Join(share, "*.sql"),
		filepath.Join(share, "english"), filepath.Join(share, "charsets"),
	}
}

// greeting is a word in the packet that a server sends to a new connection: the length of that, a
// newline that is the version of the protocol, and the version of the server.
const greeting = "MariaDB"

// shellPing only connects, because servers send the first message.
func shellPing(at netip.AddrPort) (command, answer string) {
	return fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%d; read -r <&3; read -r -n 40 said <&3; case "$said" in *%[3]s*) echo %[3]s;; esac'`,
		at.Addr(), at.Port(), greeting), greeting
}

// Sizes that keep a server small.
var small = map[string]string{"innodb-log-file-size": "8M", "innodb-buffer-pool-size": "16M"}

// seed creates the system tables of a server that lets every user in.
func seed(folder string, asRoot bool) (program string, args []string) {
	// With --force it does not look up the name of the machine, which a container does not know.
	args = append([]string{
		"--no-defaults", "--force", "--auth-root-authentication-method=normal", "--skip-name-resolve", "--datadir=" + folder,
	}, service.Format("--%s=%s", small)...)
	if asRoot {
		// The server that it starts refuses root without the option. With the option it gives the
		// folder to root, which only root may do.
		args = append(args, "--user=root")
	}
	return "mariadb-install-db", args
}

// program returns the command line of a server.
func program(at service.Place) service.Program {
	settings := map[string]string{
		"performance-schema": "OFF", "max-connections": "300", "max-connect-errors": "4294967295", "log-warnings": "1",
	}
	maps.Copy(settings, small)
	if at.Topology.Follows() {
		maps.Copy(settings, map[string]string{
			"log-slave-updates": "ON", "sync-binlog": "1", "binlog-row-image": "MINIMAL", "slave-net-timeout": "5",
		})
	}
	maps.Copy(settings, at.Settings)
	delete(settings, operator.FailoverAfter)
	delete(settings, semiSync)
	maps.Copy(settings, map[string]string{
		"user": "root", "datadir": at.Data, "bind-address": at.Listen().Addr().String(), "port": strconv.Itoa(int(at.Port)),
		"socket": path.Join(at.Data, "s"), "pid-file": path.Join(at.Config, "pid"), "tmpdir": at.Config, "skip-networking": "OFF",
		"skip-grant-tables": "ON", "skip-name-resolve": "ON",
	})
	if at.Topology.Follows() {
		// The number of a server is set after its start, see [asked.Started].
		maps.Copy(settings, map[string]string{"server-id": "1", "log-bin": path.Join(at.Data, "bin"), "binlog-format": "ROW", "skip-slave-start": "ON"})
		if at.Leader != nil {
			settings["read-only"] = "ON"
		}
	}
	return service.Program{Args: append([]string{"--no-defaults"}, service.Format("--%s=%s", settings)...)}
}
