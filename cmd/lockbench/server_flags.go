package main

import (
	"os"

	"github.com/spf13/cobra"

	"lockbench/internal/run"
	"lockbench/internal/world/external"
	services "lockbench/service/catalog"
)

// serverFlags are the flags of commands that can use external servers.
type serverFlags struct{ given external.Given }

// serverFlagNames are the names of these flags.
var serverFlagNames = []string{"servers", "hooks", "tls-ca", "tls-cert", "tls-key", "tls-name"}

// named reports whether external servers were named.
func (f *serverFlags) named() bool { return f.given.Servers != nil }

func (f *serverFlags) addServers(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.given.Servers, "servers", nil, "external servers, which lockbench does not start (world external): redis://HOST:PORT, several for independent masters; redis+sentinel://HOST:PORT,.../MASTER; redis+cluster://HOST:PORT,...; etcd://, zookeeper://, nats:// and mongodb://HOST:PORT,...; postgres://USER@HOST:PORT/DATABASE; mysql://USER@HOST:PORT; TLS by rediss, etcds, zookeepers, natss, mongodb+tls, postgres+tls, mysqls; passwords by LOCKBENCH_REDIS_PASSWORD or LOCKBENCH_REDIS_PASSWORD_FILE")
	fl.StringVar(&f.given.Hooks, "hooks", "", "a file with commands that kill, start, ... external servers")
	fl.StringVar(&f.given.CA, "tls-ca", "", "the certificate of the authority that signed the certificates of the servers (PEM)")
	fl.StringVar(&f.given.Cert, "tls-cert", "", "the client certificate (PEM)")
	fl.StringVar(&f.given.Key, "tls-key", "", "the key of --tls-cert (PEM)")
	fl.StringVar(&f.given.TLSName, "tls-name", "", "the name in the certificates of the servers (default: the host)")
}

// reach reads the external servers from the flags. It removes the secrets from the environment, which guests and hooks inherit.
func (f *worldFlags) reach(o *run.WorldOptions) error {
	g, named := f.given, f.named()
	switch {
	case o.External != nil:
		return nil // they were read before, and the secrets are no longer in the environment
	case named && f.world != "auto" && f.world != "" && f.world != external.Name:
		return usagef("--servers is for world external, and --world is %s: leave one of them out", f.world)
	case !named && f.world == external.Name:
		return usagef("--world external uses servers that run already: name them with --servers URL; lockbench run --help has the schemes")
	case !named && (g.Hooks != "" || g.CA != "" || g.Cert != "" || g.Key != "" || g.TLSName != ""):
		return usagef("--hooks, --tls-ca, --tls-cert, --tls-key and --tls-name need --servers URL")
	case !named:
		return nil
	}
	read, err := g.Read(services.All(), os.Getenv)
	if err != nil {
		return usagef("%v", err)
	}
	for _, name := range external.Variables(services.All()) {
		_ = os.Unsetenv(name)
	}
	f.world, o.External = external.Name, &read
	return nil
}
