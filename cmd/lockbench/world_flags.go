package main

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/run"
	"lockbench/internal/world"
	"lockbench/service"
	services "lockbench/service/catalog"
)

// worldFlags are the flags of every command that uses worlds.
type worldFlags struct {
	serverFlags
	world            string
	programs, images byService
	offline          bool
}

// fetchVariable is the environment variable with images to fetch instead of the official ones, as NAME=IMAGE,..., for
// example from a private registry.
const fetchVariable = "LOCKBENCH_FETCH"

// bases returns the images of that variable, by service.
func bases() (byService, error) {
	images := serviceFlag{byService{}, "IMAGE"}
	for _, text := range strings.FieldsFunc(os.Getenv(fetchVariable), func(r rune) bool { return r == ',' }) {
		if err := images.Set(text); err != nil {
			return nil, usagef("%s: %v; write it as redis=registry.example/redis:7-bookworm", fetchVariable, err)
		}
	}
	return images.texts, nil
}

// add adds the flags for programs and images.
func (f *worldFlags) add(c *cobra.Command) {
	f.programs, f.images = byService{}, byService{}
	fl := c.Flags()
	fl.Var(&serviceFlag{f.programs, "PATH"}, "server", "the server program of a service, such as redis=/opt/valkey/bin/valkey-server; may be repeated (default: this machine's)")
	fl.Var(&serviceFlag{f.images, "IMAGE"}, "image", "in world docker: the image of a service, such as redis=IMAGE; may be repeated (default: made from this machine's programs)")
	fl.BoolVar(&f.offline, "offline", false, "fetch nothing from a registry. Without it, world docker fetches an official image if this machine lacks the programs, or the image that "+fetchVariable+"=NAME=IMAGE names")
}

// addWorld adds --world.
func (f *worldFlags) addWorld(c *cobra.Command, usual string) {
	c.Flags().StringVar(&f.world, "world", usual, "where: auto or a world from lockbench list worlds")
	completeName(c, "world", func() []string { return append(worldNames(), "auto") })
}

// notEmpty is [notEmpty] for these flags and others.
func (f *worldFlags) notEmpty(c *cobra.Command, others ...string) error {
	if err := notEmpty(c, append(append([]string{"world"}, serverFlagNames...), others...)...); err != nil {
		return err
	}
	return f.programsExist()
}

// programsExist checks that the programs are executable and that the environment variable is valid.
func (f *worldFlags) programsExist() error {
	if _, err := bases(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f.programs)) {
		path := f.programs[name]
		if _, err := exec.LookPath(path); err == nil {
			continue
		} else if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return usagef("--server %s=%s: the file is not executable", name, path)
		}
		return usagef("--server %s=%s: there is no such program; without the flag, lockbench takes the one on PATH", name, path)
	}
	return nil
}

// options returns the options of the worlds.
func (f *worldFlags) options(c *cobra.Command) run.WorldOptions {
	fetched, _ := bases() // checked before
	return run.WorldOptions{
		Programs: f.programs, Images: f.images, Bases: fetched, NoFetch: f.offline, Say: sayTo(c.ErrOrStderr()), SweepDocker: sweepDocker(),
	}
}

// where returns the options of the worlds, with the external servers. It rejects programs and images that the named world
// cannot use.
func (f *worldFlags) where(c *cobra.Command) (run.WorldOptions, error) {
	o := f.options(c)
	err := f.usable(&o)
	return o, err
}

func (f *worldFlags) usable(o *run.WorldOptions) error {
	if err := f.reach(o); err != nil {
		return err
	}
	if w, ok := run.Find(f.world); ok {
		asked := run.WorldOptions{Programs: o.Programs, Images: o.Images}
		if err := asked.Unfit(w); err != nil {
			return usagef("--world %s: %v; leave out --server and --image, or name another world", f.world, err)
		}
	}
	return nil
}

// pick picks the world. It must be able to use the given programs and images.
func (f *worldFlags) pick(ctx context.Context, o run.WorldOptions) (world.World, []*run.NotReady, error) {
	if err := f.usable(&o); err != nil {
		return nil, nil, err
	}
	return run.Pick(ctx, f.world, o)
}

// byService are texts by service.
type byService map[string]string

// serviceFlag is NAME=TEXT for any service. It may be repeated.
type serviceFlag struct {
	texts byService
	value string // the name of the text in the help
}

var (
	_ pflag.Value      = (*serviceFlag)(nil)
	_ pflag.SliceValue = (*serviceFlag)(nil)
)

func (f *serviceFlag) Type() string { return "NAME=" + f.value }

func (f *serviceFlag) String() string { return strings.Join(f.GetSlice(), ",") }

func (f *serviceFlag) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || value == "" {
		return usagef("%q is not %s", text, f.Type())
	}
	if err := knownService(name); err != nil {
		return err
	}
	f.texts[name] = value
	return nil
}

func knownService(name string) error {
	if _, ok := services.Find(name); !ok {
		return usagef("no lock service is called %q; %s", name, didYouMean(name, serviceNames()))
	}
	return nil
}

// GetSlice returns the values of the flag, one for each service.
func (f *serviceFlag) GetSlice() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.texts)) {
		all = append(all, name+"="+f.texts[name])
	}
	return all
}

// Append adds a value.
func (f *serviceFlag) Append(text string) error { return f.Set(text) }

// Replace sets all values.
func (f *serviceFlag) Replace(all []string) error {
	clear(f.texts)
	for _, text := range all {
		if err := f.Set(text); err != nil {
			return err
		}
	}
	return nil
}

func serviceNames() []string { return namesOf(services.All(), service.Service.Name) }
