//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"lockbench/internal/world/process"
)

// serverPort is the first port on which all servers listen.
const serverPort = 6379

// published is that port, which the daemon publishes on a free port of loopback.
var (
	published = network.MustParsePort(fmt.Sprintf("%d/tcp", serverPort))
	loopback  = netip.AddrFrom4([4]byte{127, 0, 0, 1})
)

// Paths in a container. The data directory is an anonymous volume, because image layers may be on a slow file
// system.
const (
	folder  = "/lb"
	dataDir = folder + "/data"
	seedDir = folder + "/seed"
)

// machineScript is the first process of a container, which is the "machine" of its server: it stays when the
// server dies, and reaps orphans. It ends when the open shell kills it, which happens when this process ends.
const machineScript = "trap 'exit 0' TERM\nnft add table ip lockbench || exit 70\nsleep infinity & wait $!\n"

// create creates the container without starting it.
func (n *node) create(ctx context.Context) (err error) {
	b := n.backend
	labels := b.owner.labels()
	labels[nodeLabel] = n.Name
	// Not cancelled: the container that the daemon creates meanwhile could not be removed.
	making, cancel := contextWithLimit(context.WithoutCancel(ctx), startLimit, "create the container of "+n.Name)
	defer cancel()
	n.container, err = b.docker.CreateContainer(making, testcontainers.ContainerRequest{
		Image:        b.image,
		Entrypoint:   []string{"sh"},
		Cmd:          []string{"-c", machineScript},
		ExposedPorts: []string{published.String()},
		Name:         fmt.Sprintf("lockbench-%s-%s", b.owner.name, n.Name),
		Files:        n.clock.files(),
		ConfigModifier: func(config *container.Config) {
			// Only our labels: the labels of the library tell the reaper of another program in the same
			// session, such as other tests, to remove this container.
			config.Labels = labels
			config.Hostname = n.Name
			config.Volumes = map[string]struct{}{folder: {}}
		},
		HostConfigModifier: func(host *container.HostConfig) {
			host.CapAdd = []string{"NET_ADMIN"} // for nft, in the container's own network
			host.CgroupParent = b.parent
			host.NetworkMode = container.NetworkMode(b.subnet.name)
			host.PortBindings = network.PortMap{published: {{HostIP: loopback}}}
			// Bounded, because a failing server can fill a disk, and readable with any default of the daemon.
			host.LogConfig = container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "8m", "max-file": "1"}}
		},
		EndpointSettingsModifier: func(ends map[string]*network.EndpointSettings) {
			ends[b.subnet.name] = &network.EndpointSettings{
				NetworkID: b.subnet.id, IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: n.announced.Addr()},
			}
		},
	})
	if err != nil {
		return fmt.Errorf("create the container of %s: %w", n.Name, explain(err))
	}
	return nil
}

// Write writes files into the container, whether it runs or not.
func (n *node) Write(ctx context.Context, files map[string]string) error {
	files, err := n.writeOnDisk(ctx, files)
	if err != nil || len(files) == 0 {
		return err
	}
	content, err := archive(files)
	if err == nil {
		_, err = n.backend.api.CopyToContainer(ctx, n.id(), client.CopyToContainerOptions{DestinationPath: "/", Content: content})
	}
	if err != nil {
		return fmt.Errorf("write files of %s: %w", n.Name, explain(err))
	}
	return nil
}

func (n *node) id() string { return n.container.GetContainerID() }

// boot creates and starts the container.
func (n *node) boot(ctx context.Context) error {
	if err := n.create(ctx); err != nil {
		return err
	}
	n.backend.joining.Lock()
	err := n.container.Start(ctx)
	n.backend.joining.Unlock()
	if err != nil {
		return fmt.Errorf("start the container of %s: %w", n.Name, explain(err))
	}
	port, err := n.container.MappedPort(ctx, published.String())
	if err != nil {
		// A container that cannot run its programs has ended, and publishes nothing.
		return fmt.Errorf("find the published port of %s: %w", n.Name, n.why(ctx, err))
	}
	n.published = netip.AddrPortFrom(loopback, port.Num())
	if n.shell, err = openShell(ctx, n.backend.api, n.id()); err != nil {
		return fmt.Errorf("%s: %w", n.Name, n.why(ctx, err))
	}
	if n.backend.cluster.Spec.Unsynced {
		return n.mount(ctx)
	}
	return nil
}

// run runs a command in the container.
func (n *node) run(ctx context.Context, command string) (string, error) {
	out, err := n.shell.run(ctx, command)
	// A container that cannot run its programs may end before the shell is open, while it opens, or only now.
	if errors.Is(err, errShellEnded) {
		err = fmt.Errorf("%s: %w", n.Name, n.why(ctx, err))
	}
	return out, err
}

// endLimit bounds how long the daemon may take to notice the end of a container. Its shell is closed earlier.
const endLimit = 5 * time.Second

// why adds how the container ended, if that caused the error.
func (n *node) why(ctx context.Context, err error) error {
	if wait.ForExit().WithExitTimeout(endLimit).WithPollInterval(10*time.Millisecond).WaitUntilReady(ctx, n.container) != nil {
		return explain(err) // it goes on
	}
	state, askErr := n.container.State(ctx)
	if askErr != nil {
		return fmt.Errorf("%w: %w", err, explain(askErr))
	}
	hint := ""
	switch state.ExitCode {
	case 70:
		hint = ": nft does not work in it; the kernel needs nf_tables, and the daemon must grant NET_ADMIN"
	case 126, 127:
		var names []string
		for _, p := range wanted(n.backend.cluster.Spec.Service) {
			names = append(names, p.Name)
		}
		hint = fmt.Sprintf(": the image lacks a program; it needs %s, for this machine's kind of processor", strings.Join(names, ", "))
	}
	return explain(fmt.Errorf("the container has ended (exit code %d)%s; %s", state.ExitCode, hint, n.LastWords(ctx)))
}

// End copies the server's log and removes the container.
func (n *node) End(ctx context.Context) error {
	defer n.log.Close()
	if n.container == nil {
		return nil
	}
	closeErr := n.closeDisk(ctx)
	if n.shell != nil {
		n.shell.close(errors.New("the cluster has ended"))
	}
	if err := n.copyLog(ctx, n.log); err != nil {
		// A missing log is better than a failed teardown.
		n.log.Line(fmt.Sprintf("the log of the container could not be read: %v", err))
	}
	n.backend.joining.Lock()
	defer n.backend.joining.Unlock()
	return errors.Join(closeErr, removeContainer(ctx, n.backend.api, n.id()))
}

// copyLog copies the container's log.
func (n *node) copyLog(ctx context.Context, to *process.Log) error {
	out, err := n.container.Logs(ctx)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.Copy(to, out)
	return err
}

// LastWords returns the server's last output, for an error message.
func (n *node) LastWords(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	words := &process.Log{}
	if err := n.copyLog(ctx, words); err != nil {
		return fmt.Sprintf("its log cannot be read: %v", err)
	}
	return words.Last()
}
