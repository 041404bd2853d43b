package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/run"
	"lockbench/internal/world"
	services "lockbench/service/catalog"
)

// worldFlags are the flags of every command that starts a world, or looks at some.
type worldFlags struct {
	serverFlags
	world            string
	programs, images byService
	offline          bool
}

// fetchVariable is the environment variable that says what is fetched in the place of official
// images, as NAME=IMAGE,...: a company's own registry, say.
const fetchVariable = "LOCKBENCH_FETCH"

// bases are the images of that variable, by service.
func bases() (byService, error) {
	of := serviceFlag{byService{}, "IMAGE"}
	for _, text := range strings.FieldsFunc(os.Getenv(fetchVariable), func(r rune) bool { return r == ',' }) {
		if err := of.Set(text); err != nil {
			return nil, usagef("%s: %v; write it as redis=registry.example/redis:7-bookworm", fetchVariable, err)
		}
	}
	return of.of, nil
}

// What the short forms of the flags are for, where servers are started. NAME stands for the
// service, and PROGRAM for the command that serves it by default.
const (
	serverToStart = "the NAME server to start (default: this machine's PROGRAM)"
	imageToStart  = "in world docker: the image to start NAME servers from"
	imageMade     = " (default: made from this machine's PROGRAM)"
)

// add adds the flags for what runs the nodes of services. Each service has short forms of
// its own, and server and image say what those are for, with NAME and PROGRAM in them.
func (f *worldFlags) add(c *cobra.Command, server, image string) {
	f.programs, f.images = byService{}, byService{}
	fl := c.Flags()
	first := services.All()[0].Name()
	fl.Var(&serviceFlag{f.programs, "PATH"}, "server",
		fmt.Sprintf("the program of a service, by the service's name; such as redis=valkey-server; may be repeated; --%s-server PATH is short for --server %s=PATH", first, first))
	fl.Var(&serviceFlag{f.images, "IMAGE"}, "image",
		fmt.Sprintf("the image of a service, in world docker; may be repeated; --%s-image IMAGE is short for --image %s=IMAGE", first, first))
	fl.BoolVar(&f.offline, "offline", false, "fetch nothing from a registry; without it, world docker fetches an official image where this machine lacks the programs, or what "+fetchVariable+"=NAME=IMAGE names")
	for _, s := range services.All() {
		of := strings.NewReplacer("NAME", s.Name(), "PROGRAM", s.Needs().Command())
		fl.Var(&shortFlag{f.programs, s.Name()}, s.Name()+"-server", of.Replace(server))
		fl.Var(&shortFlag{f.images, s.Name()}, s.Name()+"-image", of.Replace(image))
	}
}

// addWorld adds --world.
func (f *worldFlags) addWorld(c *cobra.Command, usual string) {
	c.Flags().StringVar(&f.world, "world", usual, "where: auto or a world from lockbench list worlds")
	_ = c.RegisterFlagCompletionFunc("world", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return append(worldNames(), "auto"), cobra.ShellCompDirectiveNoFileComp
	})
}

// notEmpty is [notEmpty] for these flags and others.
func (f *worldFlags) notEmpty(c *cobra.Command, others ...string) error {
	for _, s := range services.All() {
		others = append(others, s.Name()+"-server", s.Name()+"-image")
	}
	if err := notEmpty(c, append(append([]string{"world"}, serverFlagNames...), others...)...); err != nil {
		return err
	}
	return f.programsExist()
}

// programsExist refuses programs that nobody could start, and an environment that says nothing.
func (f *worldFlags) programsExist() error {
	if _, err := bases(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f.programs)) {
		path := f.programs[name]
		if _, err := exec.LookPath(path); err == nil {
			continue
		} else if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return usagef("--%s-server: %s is no program: it may not be executed", name, path)
		}
		return usagef("--%s-server: there is no program %s; leave the flag out to take the one on PATH", name, path)
	}
	return nil
}

// options are what worlds are told.
func (f *worldFlags) options(c *cobra.Command) run.WorldOptions {
	fetched, _ := bases() // that they are right has been seen
	return run.WorldOptions{
		Programs: f.programs, Images: f.images, Bases: fetched, NoFetch: f.offline, Say: sayTo(c, c.ErrOrStderr()), SweepDocker: sweepDocker(),
	}
}

// where is what worlds are told, with the external servers. It refuses programs and images
// that the world which was named cannot use.
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

// pick is the world, if it can make use of the programs and images that were given.
func (f *worldFlags) pick(ctx context.Context, o run.WorldOptions) (world.World, []*run.NotReady, error) {
	if err := f.usable(&o); err != nil {
		return nil, nil, err
	}
	return run.Pick(ctx, f.world, o)
}

// byService are texts by the names of services.
type byService map[string]string

// serviceFlag is NAME=TEXT for any service, and may be repeated.
type serviceFlag struct {
	of   byService
	what string // the text is
}

var (
	_ pflag.Value      = (*serviceFlag)(nil)
	_ pflag.SliceValue = (*serviceFlag)(nil)
	_ pflag.Value      = (*shortFlag)(nil)
)

func (f *serviceFlag) Type() string { return "NAME=" + f.what }

func (f *serviceFlag) String() string { return strings.Join(f.GetSlice(), ",") }

func (f *serviceFlag) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || value == "" {
		return usagef("%q is no %s", text, f.Type())
	}
	if err := knownService(name); err != nil {
		return err
	}
	f.of[name] = value
	return nil
}

func knownService(name string) error {
	if _, ok := services.Find(name); !ok {
		return usagef("no lock service is called %q; %s", name, didYouMean(name, serviceNames()))
	}
	return nil
}

// GetSlice are the values of the flag, one for each service.
func (f *serviceFlag) GetSlice() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.of)) {
		all = append(all, name+"="+f.of[name])
	}
	return all
}

// Append adds a value.
func (f *serviceFlag) Append(text string) error { return f.Set(text) }

// Replace sets all values anew.
func (f *serviceFlag) Replace(all []string) error {
	clear(f.of)
	for _, text := range all {
		if err := f.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// shortFlag is TEXT for one service.
type shortFlag struct {
	of      byService
	service string
}

func (f *shortFlag) Type() string { return "string" }

func (f *shortFlag) String() string { return f.of[f.service] }

func (f *shortFlag) Set(text string) error {
	f.of[f.service] = text
	return nil
}

func serviceNames() []string {
	var names []string
	for _, s := range services.All() {
		names = append(names, s.Name())
	}
	return names
}
