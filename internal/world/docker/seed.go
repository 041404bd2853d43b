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
func (b *backend) makeSeed(ctx context.Context) error {
	seed := b.cluster.Spec.Service.Needs.Seed
	if seed == nil {
		return nil
	}
	first := b.nodes[0]
	as := b.as()
	program, args := seed(seedDir, as == "")
	script := "mkdir -p " + seedDir + "\n"
	if as != "" {
		script += "chown " + ordinary + ":" + ordinary + " " + seedDir + "\n"
	}
	script += "cd " + seedDir + " && " + as + quoted(append([]string{program}, args...))
	if out, err := first.run(ctx, script); err != nil {
		return fmt.Errorf("make the data with which %s begins, with %s: %w: %.300s", b.cluster.Spec.Service.Name, program, err, out)
	}
	from, err := b.api.CopyFromContainer(ctx, first.id(), client.CopyFromContainerOptions{SourcePath: seedDir})
	if err != nil {
		return fmt.Errorf("read the data with which nodes begin: %w", explain(err))
	}
	defer from.Content.Close()
	if b.seed, err = io.ReadAll(from.Content); err != nil {
		return fmt.Errorf("read the data with which nodes begin: %w", explain(err))
	}
	return service.Each(b.nodes[1:], func(n *node) error {
		_, err := b.api.CopyToContainer(ctx, n.id(), client.CopyToContainerOptions{DestinationPath: folder, Content: bytes.NewReader(b.seed)})
		if err != nil {
			return fmt.Errorf("write the data with which %s begins: %w", n.Name, explain(err))
		}
		return nil
	})
}
