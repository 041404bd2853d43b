package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/report/site"
	"lockbench/internal/run"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	listen, tokenFile string
	open              bool
}

func newServeCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Show a results folder in the browser, with the runs in progress",
		Long: `serve shows a results folder as a site on this machine: all runs, each lock over time,
reports, histories in pieces, and the runs in progress. It needs no network, writes
nothing, and serves nothing outside of the folder. Without an argument the folder is
results. Ctrl-C ends it.

It listens on 127.0.0.1. To give others access, --listen ADDRESS:PORT needs --token-file
FILE: a file that only you can read, with a token of at least 16 characters. Browsers
ask for the token, and programs send it as "Authorization: Bearer TOKEN". The connection
is not encrypted: an ssh -L to a site on 127.0.0.1 is.`,
		Example: `  lockbench serve
  lockbench serve results --open
  lockbench serve --listen 0.0.0.0:8300 --token-file token`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("serve wants one results folder and got %d arguments: %s; see lockbench serve --help", len(args), strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8300", "address and port; port 0 takes any that is free")
	fl.StringVar(&f.tokenFile, "token-file", "", "a file with the token that clients must send")
	fl.BoolVar(&f.open, "open", false, "show it in the browser")
	return c
}

func (f *serveFlags) run(c *cobra.Command, args []string) error {
	if err := notEmpty(c, "listen", "token-file"); err != nil {
		return err
	}
	at, err := f.address()
	if err != nil {
		return err
	}
	o := site.Options{Root: "results", Judge: soFar}
	if len(args) == 1 {
		o.Root = args[0]
	}
	if info, err := os.Stat(o.Root); err != nil || !info.IsDir() {
		return usagef("serve: %s is no folder; name a results folder, or make one with `lockbench run SCENARIO`", o.Root)
	}
	if o.Token, err = f.token(); err != nil {
		return err
	}
	if name, err := os.Hostname(); err == nil && !at.Addr().IsLoopback() {
		o.Hosts = []string{name}
	}
	s, err := site.New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return fmt.Errorf("serve: %w; another address: --listen 127.0.0.1:0 takes a port that is free", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		at = a.AddrPort()
	}
	host := netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	if host.Addr().IsUnspecified() {
		host = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	url := "http://" + host.String() + "/"
	say := sayTo(c.OutOrStdout())
	say(fmt.Sprintf("serving %s on %s · Ctrl-C ends it", o.Root, url))
	if f.open {
		if err := openPage(url); err != nil {
			say(fmt.Sprintf("%v; open it by hand", err))
		}
	}
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		// Pages that watch a run end with the command.
		BaseContext: func(net.Listener) context.Context { return c.Context() },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-c.Context().Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 5*time.Second)
	defer cancel()
	return server.Shutdown(limited)
}

// soFar judges a history that may not have ended.
func soFar(name string, h *history.History) (report.Lock, error) {
	l, err := run.JudgeHistory(name, h, checker.Options{})
	return l, err
}

// address is where to listen.
func (f *serveFlags) address() (netip.AddrPort, error) {
	text := f.listen
	if rest, ok := strings.CutPrefix(text, "localhost:"); ok {
		text = "127.0.0.1:" + rest
	}
	if strings.HasPrefix(text, ":") {
		text = "0.0.0.0" + text
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return at, usagef("--listen wants an address and a port, such as 127.0.0.1:8300, not %q", f.listen)
	}
	if !at.Addr().Unmap().IsLoopback() && f.tokenFile == "" {
		return at, usagef("--listen %s can be reached by others, and wants --token-file FILE: a file with a token, such as `head -c 24 /dev/urandom | base64 > token; chmod 600 token` makes", f.listen)
	}
	return at, nil
}

// tokenMin is how many signs a token has at least.
const tokenMin = 16

// token reads the token, if there is to be one.
func (f *serveFlags) token() (string, error) {
	if f.tokenFile == "" {
		return "", nil
	}
	info, err := os.Stat(f.tokenFile)
	var text []byte
	if err == nil {
		text, err = regular.ReadFile(f.tokenFile)
	}
	if err != nil {
		return "", usagef("--token-file: %v", errors.Unwrap(err))
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", usagef("--token-file: others can read %s (mode %v); chmod 600 %s", f.tokenFile, info.Mode().Perm(), f.tokenFile)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < tokenMin {
		return "", usagef("--token-file: the token in %s has %d signs; it wants at least %d", f.tokenFile, len(token), tokenMin)
	}
	return token, nil
}
