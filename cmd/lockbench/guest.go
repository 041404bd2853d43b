package main

import (
	"context"

	"github.com/spf13/cobra"

	"lockbench/internal/guest"
	"lockbench/internal/report"
	"lockbench/locks"
	"lockbench/locks/catalog"
)

func newGuestCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "guest LOCK",
		Hidden: true,
		Short:  "Be one client of a lock: the child-process side, JSON lines on stdin and stdout",
		Long: `guest is what lockbench starts once for every client: it speaks JSON lines on
standard input and output and logs on standard error. A lock in any language can
take its place; docs/guest-protocol.md has the protocol.`,
		Example: "  lockbench guest set-nx",
		Args:    wants(1, 1, "a lock"),
		RunE: func(c *cobra.Command, args []string) error {
			lock, ok := catalog.Find(args[0])
			if !ok {
				return exitError{report.ExitUsage, catalog.NotFound(args[0])}
			}
			hello := guest.HelloOf(lock.Card)
			hello.Version, hello.SourceAddress, hello.AddrMap = version, true, true
			return guest.Main(c.Context(), hello, func(_ context.Context, r guest.Request) (locks.Opener, locks.Client, error) {
				opener, err := lock.New(r.Options)
				if err != nil {
					return nil, locks.Client{}, err
				}
				client, err := guest.NewClient(r)
				return opener, client, err
			})
		},
	}
}
