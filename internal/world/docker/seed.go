//go:build linux

package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/moby/moby/client"

	"lockbench/internal/service"
)

// makeSeed creates the initial data, if the service has any, once, in the container of the first node; all nodes
// must begin with the same data.
func (c *Cluster) makeSeed(ctx context.Context) error {
	seed := c.Spec.Service.Needs.Seed
	if seed == nil {
		return nil
	}
	first := c.nodes[0]
	as := c.as()
	program, args := seed(seedDir, as == "")
	script := "mkdir -p " + seedDir + "\n"
	if as != "" {
		script += "chown " + ordinary + ":" + ordinary + " " + seedDir + "\n"
	}
	script += "cd " + seedDir + " && " + as + quoted(append([]string{program}, args...))
	if out, err := first.run(ctx, script); err != nil {
		return fmt.Errorf("make the data with which %s begins, with %s: %w: %.300s", c.Spec.Service.Name, program, err, out)
	}
	from, err := c.api.CopyFromContainer(ctx, first.id(), client.CopyFromContainerOptions{SourcePath: seedDir})
	if err != nil {
		return fmt.Errorf("read the data with which nodes begin: %w", explain(err))
	}
	defer from.Content.Close()
	if c.seed, err = io.ReadAll(from.Content); err != nil {
		return fmt.Errorf("read the data with which nodes begin: %w", explain(err))
	}
	return service.Each(c.nodes[1:], func(n *node) error {
		_, err := c.api.CopyToContainer(ctx, n.id(), client.CopyToContainerOptions{DestinationPath: folder, Content: bytes.NewReader(c.seed)})
		if err != nil {
			return fmt.Errorf("write the data with which %s begins: %w", n.Name, explain(err))
		}
		return nil
	})
}
