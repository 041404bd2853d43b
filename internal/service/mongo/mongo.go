// Package mongo is MongoDB as a lock service: one server that speaks its protocol.
//
// Lockbench starts FerretDB on SQLite, a Go module that lockbench-more serves, or a
// mongod that the user names. FerretDB speaks the protocol and is not MongoDB: it reads and then
// writes where findAndModify is to do both at once. So it is a control, and its version says so.
//
// Lockbench queries servers past all faults, with a new connection for each command, in the package
// bson of the official driver.
package mongo

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/service"
)

// Name is the name of the service and the prefix of its nodes and endpoints.
const Name = "mongo"

// Parameters of clients.
const (
	Database = "database" // holds the locks
	User     = "user"     // of the database admin; absent: no login
	Password = "password"
)

// database is the database of the locks.
const database = "lockbench"

var topologies = []service.Topology{service.One(Name, 0)}

//go:embed settings.txt
var settingsText string

// Service is MongoDB.
var Service = &service.Service{
	Name: Name, Topologies: topologies, Settings: service.ReadSettings(settingsText),
	Needs: service.More(Name, "a mongod of your own with --server mongo=PATH", service.Needs{
		Version: version, Least: "5.0", Shell: service.Shell{Ping: shellPing, Pong: pong()},
	}),
	Program: program,
	Open:    func(t service.Topology, h service.Host) service.Servers { return newServers(t, h, database) },
	Wire:    wire,
	External: service.External{
		Schemes: urls.Schemes(), Locate: locate, Login: service.Secure, Survey: survey, Open: openExternal,
	},
}

var (
	mongodVersion = service.VersionReader(`(?m)^db version v((\d+)\.\d+\.\S+)`, "a mongod", 5, 0)
	ferretPattern = regexp.MustCompile(`(?m)^FerretDB v(\S+) on SQLite`)
)

// version parses the output of a server. Before 5.0, not every release had the command hello.
func version(output string) (text string, enough bool, err error) {
	if v := ferretPattern.FindStringSubmatch(output); v != nil {
		return v[1] + " of FerretDB, which is not MongoDB", true, nil
	}
	return mongodVersion(output)
}

// program returns the command line of a server. lockbench-more takes the same flags.
func program(at service.Place) service.Program {
	p := service.Program{Args: []string{"--bind_ip", at.Listen().Addr().String(), "--port", fmt.Sprint(at.Port), "--dbpath", at.Data}}
	for _, name := range slices.Sorted(maps.Keys(at.Settings)) {
		p.Args = append(p.Args, "--"+name, at.Settings[name])
	}
	return p
}

// shellPing sends a command whose number consists of four equal letters. The answer repeats the number in its
// head, and the shell reads up to it.
func shellPing(at netip.AddrPort) (command, answer string) {
	var text strings.Builder
	for _, b := range message(shellNumber, ping) {
		fmt.Fprintf(&text, `\x%02x`, b)
	}
	return fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%d; printf "%s" >&3; read -r -d %c said <&3 && echo ok'`,
		at.Addr(), at.Port(), text.String(), shellNumber>>24), "ok"
}

// shellNumber is the number of the command that a shell sends: AAAA.
const shellNumber = 'A' * 0x01010101

func pong() []byte {
	said := message(1, bson.M{"ok": 1.0})
	binary.LittleEndian.PutUint32(said[8:], shellNumber)
	return said
}
