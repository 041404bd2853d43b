//go:build !wasip1

package servers

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/debug"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// ferretPath is the module of FerretDB.
const ferretPath = "github.com/FerretDB/FerretDB"

// serveMongo is FerretDB on SQLite, with the flags of a mongod that lockbench gives it.
func serveMongo(words []string) {
	flags := flag.NewFlagSet("mongo", flag.ExitOnError)
	host := flags.String("bind_ip", "127.0.0.1", "where to listen")
	port := flags.String("port", "27017", "on which port")
	folder := flags.String("dbpath", "", "where to keep data")
	tells := flags.Bool("version", false, "say the version, and end")
	_ = flags.Parse(words) // it exits by itself
	if *tells {
		fmt.Println("FerretDB", versionOf(ferretPath), "on SQLite")
		return
	}
	if err := ferret(net.JoinHostPort(*host, *port), *folder); err != nil {
		fmt.Fprintln(os.Stderr, "mongo:", err)
		os.Exit(1)
	}
}

func ferret(listen, folder string) error {
	if folder == "" {
		return fmt.Errorf("--dbpath must name a folder")
	}
	f, err := ferretdb.New(&ferretdb.Config{Listener: ferretdb.ListenerConfig{TCP: listen}, Handler: "sqlite", SQLiteURL: "file:" + folder + "/"})
	if err != nil {
		return err
	}
	return f.Run(context.Background())
}

// versionOf is that of a module that this program was built with.
func versionOf(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
