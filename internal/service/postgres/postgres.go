// Package postgres is PostgreSQL as a lock service: one server, or a primary with two replicas that
// stream its log.
//
// Lockbench queries servers directly in SQL. All of them begin with a copy of the same data, so a
// replica needs no base backup, and one that lost its data streams everything again.
package postgres

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
const Name = "postgres"

// Keys of [locks.Store.Params].
const (
	User     = "user"
	Password = "password" // absent if the user needs none
	Database = "database"
	Schema   = "schema" // where tables are created; absent: the usual one
)

const (
	user     = "postgres"
	database = "postgres"
)

var topologies = operator.Topologies(Name)

// dirs are where the programs are searched in addition to PATH.
var dirs = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}

//go:embed settings.txt
var settingsText string

// Service is PostgreSQL.
var Service = &service.Service{
	Name: Name, Topologies: topologies, Settings: service.ReadSettings(settingsText),
	Needs: service.Needs{
		Programs: []service.Executable{
			{Name: "postgres", Package: "postgresql", Dirs: dirs},
			{Name: "initdb", Package: "postgresql", Dirs: dirs},
			{Name: "bash", Package: "bash"},
		},
		Install: "install one (on Debian or Ubuntu: apt-get install postgresql), or name its program postgres, " +
			"which has initdb next to it, with --server postgres=PATH",
		VersionArgs: []string{"--version"},
		Version:     version,
		Least:       strconv.Itoa(majorMin),
		Users:       []string{"postgres", "nobody"},
		Files:       files,
		Shell:       service.Shell{Ping: shellPing, Pong: []byte("N")},
		Seed:        seed,
	},
	Program: program,
	Open: func(t service.Topology, h service.Host) service.Servers {
		return newServers(t, h, login{Credentials: service.Credentials{User: user}, database: database}, "")
	},
	Wire: service.Wire{
		Unread: errors.New("clients of PostgreSQL send several messages for one statement, which lockbench does not read"),
	},
	External: service.External{
		Schemes: urls.Schemes(), Locate: urls.Locate, Login: startTLS, Survey: survey, Open: openExternal,
	},
}

// majorMin is the first version that applies a new primary_conninfo without a restart.
const majorMin = 13

var version = service.VersionReader(`^postgres \(PostgreSQL\) ((\d+)\S*)`, "a postgres", majorMin, 0)

// files returns the files that its programs look for near themselves, and in /usr/share.
func files(postgres string) []string {
	home := filepath.Dir(filepath.Dir(postgres))
	return []string{
		filepath.Join(home, "bin", "*"), filepath.Join(home, "lib"), filepath.Join(home, "share"),
		filepath.Join("/usr/share/postgresql", filepath.Base(home)), "/usr/share/zoneinfo/UTC", "/usr/share/zoneinfo/Etc/UTC",
	}
}

// sslBytes are an sslRequest in the escapes of printf. A server without keys answers N.
const sslBytes = `\0\0\0\10\4\322\26\57`

func shellPing(at netip.AddrPort) (command, answer string) {
	return service.BashAsks(at, sslBytes, 1), "N"
}

// seed generates a database with one user, who needs no password. Its log has segments of a megabyte,
// so that a restarted server writes little.
func seed(folder string, _ bool) (program string, args []string) {
	return "initdb", []string{
		"--pgdata=" + folder, "--username=" + user, "--auth=trust", "--encoding=UTF8", "--locale=C",
		"--wal-segsize=1", "--no-sync", "--no-instructions",
	}
}

// program returns the command line of a server.
func program(at service.Place) service.Program {
	conf, hba := path.Join(at.Config, "postgresql.conf"), path.Join(at.Config, "pg_hba.conf")
	settings := map[string]string{
		"shared_buffers": "8MB", "max_connections": "300", "autovacuum": "off",
		"max_wal_size": "64MB", "min_wal_size": "8MB", "checkpoint_timeout": "30min",
		// In the data folder, because a killed server leaves its files in other folders.
		"dynamic_shared_memory_type": "mmap",
	}
	files := map[string]string{
		hba: "local all all trust\nhost all all all trust\nhost replication all all trust\n",
	}
	if at.Topology.Follows() {
		maps.Copy(settings, map[string]string{
			"hot_standby": "on", "max_wal_senders": "10", "wal_level": "replica",
			// A replica that lost its data streams everything again.
			"wal_keep_size":      "1GB",
			"wal_sender_timeout": "5s", "wal_receiver_timeout": "5s", "wal_receiver_status_interval": "1s", "wal_retrieve_retry_interval": "200ms",
		})
	}
	maps.Copy(settings, at.Settings)
	delete(settings, operator.FailoverAfter)
	maps.Copy(settings, map[string]string{
		"listen_addresses": at.Listen().Addr().String(), "port": strconv.Itoa(int(at.Port)),
		"hba_file":                hba,
		"unix_socket_directories": "", "logging_collector": "off",
		// A server that shows its activity in the process table overwrites its environment.
		"update_process_title": "off",
	})
	if at.Leader != nil {
		settings["primary_conninfo"] = conninfo(*at.Leader, at.Node.Name)
		files[path.Join(at.Data, "standby.signal")] = ""
	}
	for name, value := range settings {
		settings[name] = strings.ReplaceAll(value, "'", "''")
	}
	files[conf] = strings.Join(service.Format("%s = '%s'\n", settings), "")
	return service.Program{Args: []string{"-D", at.Data, "-c", "config_file=" + conf}, Files: files}
}

// conninfo returns the connection string for another server.
func conninfo(at netip.AddrPort, as string) string {
	return fmt.Sprintf("host=%s port=%d user=%s application_name=%s connect_timeout=2", at.Addr(), at.Port(), user, as)
}
