package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/internal/campaign"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/site"
)

func newServeCommand() *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Show a results folder in the browser, with the runs in progress",
		Long: `serve shows a results folder as a site on this machine: all runs, reports with
all their files, and the runs in progress. It writes nothing and serves only files of the
folder, which is results by default. Ctrl-C ends it.

Only this machine can reach the site. From another machine, use
ssh -L 8300:127.0.0.1:8300 HOST.`,
		Example: `  lockbench serve
  lockbench serve results
  lockbench serve --listen 127.0.0.1:0`,
		Args: wants(0, 1, "one results folder"),
		RunE: func(c *cobra.Command, args []string) error { return serve(c, args, listen) },
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8300", "address and port; 0 means any free port")
	return c
}

func serve(c *cobra.Command, args []string, listen string) error {
	at, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return usagef("--listen wants an address and a port, such as 127.0.0.1:8300: %v", err)
	}
	if !at.IP.IsLoopback() {
		return usagef("--listen %s can be reached from other machines, and serve has no access control; "+
			"listen on 127.0.0.1 and use ssh -L 8300:127.0.0.1:8300 HOST there", listen)
	}
	o := site.Options{Root: "results", Judge: func(name string, h *history.History) (report.Lock, error) {
		return report.JudgeHistory(name, h, checker.Options{}) // it may not have ended
	}, Campaign: func(dir string) (int, error) {
		c, err := campaign.Read(dir)
		if err != nil {
			return 0, err
		}
		t, err := c.Table()
		if err != nil {
			return 0, err
		}
		return t.ExitCode(), nil
	}}
	if len(args) == 1 {
		o.Root = args[0]
	}
	if info, err := os.Stat(o.Root); err != nil || !info.IsDir() {
		return usagef("serve: %s is not a folder; name a results folder, or make one with `lockbench run SCENARIO`", o.Root)
	}
	s, err := site.New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return fmt.Errorf("serve: %w; another address: --listen 127.0.0.1:0 takes a port that is free", err)
	}
	sayTo(c.OutOrStdout())(fmt.Sprintf("serving %s on http://%s/ · Ctrl-C ends it", o.Root, l.Addr()))
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		// Requests for the progress of a run end with the command.
		BaseContext: func(net.Listener) context.Context { return c.Context() },
	}
	context.AfterFunc(c.Context(), func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
