package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"lockbench/internal/run"
	services "lockbench/service/catalog"
)

func newImageCommand() *cobra.Command {
	var f worldFlags
	var own string
	c := &cobra.Command{
		Use:   "image [SERVICE]",
		Short: "Build the Docker image for --world docker",
		Long: `image makes what world docker needs: an image of this machine's own programs of a
lock service and nft, with the libraries that they load and what else the service needs. It
is made in memory and handed to the daemon, and no registry is asked. On a machine without these
programs it fetches an official image and adds nft to it.

Runs do the same by themselves. An image is named after what is in it, so it is made
again only when one of the programs has changed.

With --pack FILE it writes what an image of lockbench itself has, this program and the
servers: make image puts it into the image lockbench, in which world local runs.`,
		Example: "  lockbench image\n  lockbench image --redis-server /opt/valkey/bin/valkey-server\n  lockbench image etcd",
		Args:    atMostAService,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.notEmpty(c, "pack"); err != nil {
				return err
			}
			if c.Flags().Changed("pack") {
				return packProgram(c, own)
			}
			o := f.options(c)
			o.Again = true
			of := services.All()[0]
			if len(args) > 0 {
				of, _ = services.Find(args[0]) // it is known
			}
			info, err := run.NewDocker(o).Image(c.Context(), of)
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
	f.add(c, "the NAME server to put into it (default: this machine's PROGRAM)", "look at this image of NAME instead, and fetch it if it is not here")
	c.Flags().StringVar(&own, "pack", "", "write the files of an image of lockbench itself into this tar, and ask no daemon")
	return c
}

// packProgram writes the files of an image of lockbench itself.
func packProgram(c *cobra.Command, to string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	content, err := run.PackProgram(c.Context(), self)
	if err == nil {
		err = os.WriteFile(to, content, 0o644)
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(c.OutOrStdout(), "%s: %d MB\n", to, len(content)>>20)
	return nil
}

// atMostAService is for commands that are about one lock service, and about the first if
// nobody says which.
func atMostAService(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one lock service and got %d; see lockbench %s --help", c.Name(), len(args), c.Name())
	}
	if len(args) == 1 {
		return knownService(args[0])
	}
	return nil
}
