package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/internal/run"
)

func newImageCommand() *cobra.Command {
	var f worldFlags
	c := &cobra.Command{
		Use:   "image",
		Short: "Build the Docker image for --world docker",
		Long: `image makes what world docker needs: an image of this machine's own redis-server,
redis-cli and nft, with the libraries that they load and nothing else. It is made in
memory and handed to the daemon, and no registry is asked. On a machine without these
programs it fetches an official image and adds nft to it.

Runs do the same by themselves. An image is named after what is in it, so it is made
again only when one of the programs has changed.`,
		Example: "  lockbench image\n  lockbench image --redis-server /opt/valkey/bin/valkey-server",
		Args:    nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.notEmpty(c); err != nil {
				return err
			}
			o := f.options(c)
			o.Again = true
			info, err := run.NewDocker(o).Image(c.Context())
			if err != nil {
				return fmt.Errorf("world docker: %w", err)
			}
			how := "is there"
			if info.Built {
				how = "was made"
			}
			_, _ = fmt.Fprintf(c.OutOrStdout(), "%s %s: %d MB, %s\n", info.Name, how, info.Bytes>>20, info.From)
			return nil
		},
	}
	f.add(c, "the server to put into it (default: from PATH)", "look at this image instead, and fetch it if it is not here")
	return c
}
