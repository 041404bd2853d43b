package main

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/run"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/world/external"
)

// worldFlags are the flags of every command that uses worlds.
type worldFlags struct {
	given            external.Given // servers that lockbench does not start
	world            string
	programs, images []string
	offline          bool
}

// fetchVariable is the environment variable with images to fetch instead of the official ones, as NAME=IMAGE,..., for
// example from a private registry: redis=registry.example/redis:7-bookworm.
const fetchVariable = "LOCKBENCH_FETCH"

// serverFlags are the names of the flags for external servers.
var serverFlags = []string{"servers", "hooks", "tls-ca", "tls-cert", "tls-key", "tls-name"}

// named reports whether external servers were named.
func (f *worldFlags) named() bool { return f.given.Servers != nil }

// add adds the flags except --world.
func (f *worldFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.given.Servers, "servers", nil, "external servers, which lockbench does not start (world external): redis://HOST:PORT, several for independent masters; redis+sentinel://HOST:PORT,.../MASTER; redis+cluster://HOST:PORT,...; etcd://, zookeeper://, nats:// and mongodb://HOST:PORT,...; postgres://USER@HOST:PORT/DATABASE; mysql://USER@HOST:PORT; TLS by rediss, etcds, zookeepers, natss, mongodb+tls, postgres+tls, mysqls; passwords by LOCKBENCH_REDIS_PASSWORD or LOCKBENCH_REDIS_PASSWORD_FILE")
	fl.StringVar(&f.given.Hooks, "hooks", "", "a file with commands that kill, start, ... external servers")
	fl.StringVar(&f.given.CA, "tls-ca", "", "the certificate of the authority that signed the certificates of the servers (PEM)")
	fl.StringVar(&f.given.Cert, "tls-cert", "", "the client certificate (PEM)")
	fl.StringVar(&f.given.Key, "tls-key", "", "the key of --tls-cert (PEM)")
	fl.StringVar(&f.given.TLSName, "tls-name", "", "the name in the certificates of the servers (default: the host)")
	fl.StringArrayVar(&f.programs, "server", nil, "the server program of a service as `NAME=PATH`, such as redis=/opt/valkey/bin/valkey-server; may be repeated (default: this machine's)")
	fl.StringArrayVar(&f.images, "image", nil, "in world docker: the image of a service as `NAME=IMAGE`, such as redis=IMAGE; may be repeated (default: made from this machine's programs)")
	fl.BoolVar(&f.offline, "offline", false, "fetch nothing from a registry. Without it, world docker fetches an official image if this machine lacks the programs, or the image that "+fetchVariable+"=NAME=IMAGE names")
}

// addWorld adds --world.
func (f *worldFlags) addWorld(c *cobra.Command, usual string) {
	c.Flags().StringVar(&f.world, "world", usual, "where: auto or a world from lockbench list worlds")
	completeName(c, "world", func() []string { return append(worldNames(), "auto") })
}

// options returns the options of the worlds, without external servers.
func (f *worldFlags) options(c *cobra.Command) (o run.WorldOptions, err error) {
	o = run.WorldOptions{
		NoFetch: f.offline, Say: sayTo(c.ErrOrStderr()), SweepDocker: itself(sweepDockerName), SimTrial: itself(simTrialName),
	}
	if o.Programs, err = byService("--server", "PATH", f.programs); err != nil {
		return o, err
	}
	if o.Images, err = byService("--image", "IMAGE", f.images); err != nil {
		return o, err
	}
	fetched := strings.FieldsFunc(os.Getenv(fetchVariable), func(r rune) bool { return r == ',' })
	o.Bases, err = byService(fetchVariable, "IMAGE", fetched)
	return o, err
}

// programsExist checks that the programs are executable.
func programsExist(programs map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		path := programs[name]
		if _, err := exec.LookPath(path); err == nil {
			continue
		} else if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return usagef("--server %s=%s: the file is not executable", name, path)
		}
		return usagef("--server %s=%s: there is no such program; without the flag, lockbench takes the one on PATH", name, path)
	}
	return nil
}

// where returns the options of the worlds, with the external servers. It rejects programs and images that the named world
// cannot use.
func (f *worldFlags) where(c *cobra.Command) (run.WorldOptions, error) {
	o, err := f.options(c)
	if err == nil {
		err = programsExist(o.Programs)
	}
	if err == nil {
		err = f.reach(&o)
	}
	if err != nil {
		return o, err
	}
	if w, ok := run.Find(f.world); ok {
		asked := run.WorldOptions{Programs: o.Programs, Images: o.Images}
		if err := asked.Unfit(w); err != nil {
			return o, usagef("--world %s: %v; leave out --server and --image, or name another world", f.world, err)
		}
	}
	return o, nil
}

// byService parses NAME=TEXT, once for each service. where is the flag or the variable, and kind the word for TEXT.
func byService(where, kind string, texts []string) (map[string]string, error) {
	found := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || value == "" {
			return nil, usagef("%s: %q is not NAME=%s", where, text, kind)
		}
		if err := knownService(name); err != nil {
			return nil, usagef("%s: %v", where, err)
		}
		found[name] = value
	}
	return found, nil
}

func knownService(name string) error {
	if _, ok := services.Find(name); !ok {
		return usagef("no lock service is called %q; %s", name, didYouMean(name, serviceNames()))
	}
	return nil
}

func serviceNames() []string {
	return mapped(services.All(), func(s *service.Service) string { return s.Name })
}

// reach reads the external servers from the flags. It removes the variables of secrets from the environment, which guests and
// hooks inherit, also if they are not used.
func (f *worldFlags) reach(o *run.WorldOptions) error {
	if o.External != nil {
		return nil // they were read before, and the secrets are no longer in the environment
	}
	read, err := f.external()
	for _, name := range external.Variables(services.All()) {
		_ = os.Unsetenv(name)
	}
	if read != nil {
		f.world, o.External = external.Name, read
	}
	return err
}

// external reads the external servers from the flags and the environment, or returns nil if none are named.
func (f *worldFlags) external() (*external.Options, error) {
	g, named := f.given, f.named()
	switch {
	case named && f.world != "auto" && f.world != "" && f.world != external.Name:
		return nil, usagef("--servers is for world external, and --world is %s: leave one of them out", f.world)
	case !named && f.world == external.Name:
		return nil, usagef("--world external uses servers that run already: name them with --servers URL; lockbench run --help has the schemes")
	case !named && (g.Hooks != "" || g.CA != "" || g.Cert != "" || g.Key != "" || g.TLSName != ""):
		return nil, usagef("--hooks, --tls-ca, --tls-cert, --tls-key and --tls-name need --servers URL")
	case !named:
		return nil, nil
	}
	read, err := g.Read(services.All(), os.Getenv)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return &read, nil
}
