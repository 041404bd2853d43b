//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"lockbench/internal/world/child"
)

// serverPort is where all servers listen, sentinels too.
const serverPort = 6379

// Paths in a container. The folder is a nameless volume, which lives and goes with
// the container: what servers write and sync there must not wait for the layers of
// an image, which some machines keep in a slow file system.
const (
	folder     = "/lb"
	configFile = folder + "/redis.conf"
	rulesFile  = folder + "/rules.nft"
	dataDir    = folder + "/data"
	knownFile  = folder + "/nodes.conf" // what a node of a cluster knows of the others
)

// machineScript is the first process of a container, which is to its server what a
// machine is: it stays when the server dies. It collects the dead, and does nothing else.
const machineScript = "nft -f " + rulesFile + " || exit 70\nsleep infinity & wait $!\n"

// create makes the container and starts nothing.
func (n *node) create(ctx context.Context) (err error) {
	if n.port, err = claimPort(); err != nil {
		return err
	}
	c := n.cluster
	inside := network.MustParsePort(fmt.Sprintf("%d/tcp", serverPort))
	labels := c.owner.labels()
	labels[nodeLabel] = n.Name
	n.container, err = c.docker.CreateContainer(ctx, testcontainers.ContainerRequest{
		Image:        c.image,
		Entrypoint:   []string{"sh"},
		Cmd:          []string{"-c", machineScript},
		ExposedPorts: []string{inside.String()},
		Name:         fmt.Sprintf("lockbench-%s-%s", c.owner.name, n.Name),
		ConfigModifier: func(config *container.Config) {
			// Ours alone: the library's own labels tell the reaper of another program of the
			// same session, such as somebody's other tests, that this is its to remove.
			config.Labels = labels
			config.Hostname = n.Name
			config.Volumes = map[string]struct{}{folder: {}}
		},
		HostConfigModifier: func(host *container.HostConfig) {
			host.CapAdd = []string{"NET_ADMIN"} // for nft, in the container's own network
			host.CgroupParent = c.parent
			host.NetworkMode = container.NetworkMode(c.subnet.name)
			host.PortBindings = network.PortMap{inside: {{HostIP: n.port.addr().Addr(), HostPort: fmt.Sprint(n.port.number)}}}
			// Bounded, since a server in trouble can fill a disk, and readable, whatever the
			// daemon's own setting is.
			host.LogConfig = container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "8m", "max-file": "1"}}
		},
		EndpointSettingsModifier: func(ends map[string]*network.EndpointSettings) {
			ends[c.subnet.name] = &network.EndpointSettings{
				NetworkID: c.subnet.id, IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: n.announced.Addr()},
			}
		},
	})
	if err != nil {
		return fmt.Errorf("create the container of %s: %w", n.Name, explain(err))
	}
	return n.put(ctx, map[string]string{configFile: n.settings.Text(), rulesFile: c.rulesFor(n)})
}

// recreate does without what create has made.
func (n *node) recreate(ctx context.Context) error {
	err := removeContainers(ctx, n.cluster.api, []string{n.container.GetContainerID()})
	n.port.release()
	return errors.Join(err, n.create(ctx))
}

// put writes files into the container, whether it runs or not.
func (n *node) put(ctx context.Context, files map[string]string) error {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	var err error
	for name, text := range files {
		err = errors.Join(err, addFile(t, name, []byte(text), 0o644))
	}
	if err = errors.Join(err, t.Close()); err == nil {
		_, err = n.cluster.api.CopyToContainer(ctx, n.id(), client.CopyToContainerOptions{DestinationPath: "/", Content: &b})
	}
	if err != nil {
		return fmt.Errorf("write files of %s: %w", n.Name, explain(err))
	}
	return nil
}

func (n *node) id() string { return n.container.GetContainerID() }

// boot makes the container and starts it, as one switches on a machine.
func (n *node) boot(ctx context.Context) error {
	if err := n.create(ctx); err != nil {
		return err
	}
	return n.switchOn(ctx)
}

// switchOn starts the container. Somebody may have taken its port since it was chosen.
func (n *node) switchOn(ctx context.Context) error {
	for range tries {
		err := n.container.Start(ctx)
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "already allocated") && !strings.Contains(err.Error(), "already in use") {
			return fmt.Errorf("start the container of %s: %w", n.Name, explain(err))
		}
		if err := n.recreate(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("start the container of %s: no port was free for long enough, %d times in a row", n.Name, tries)
}

// shellRun runs a command in the container.
func (n *node) shellRun(ctx context.Context, command string) (string, error) {
	s, err := n.openShell(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.Name, err)
	}
	return s.run(ctx, command)
}

func (n *node) openShell(ctx context.Context) (*shell, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shell != nil && n.shell.alive() {
		return n.shell, nil
	}
	var err error
	n.shell, err = openShell(ctx, n.cluster.api, n.id())
	if err != nil {
		return nil, n.why(ctx, explain(err))
	}
	return n.shell, nil
}

// why adds how the container ended, if that is the reason of an error.
func (n *node) why(ctx context.Context, err error) error {
	state, askErr := n.cluster.api.ContainerInspect(ctx, n.id(), client.ContainerInspectOptions{})
	if askErr != nil || state.Container.State.Running {
		return err
	}
	code, hint := state.Container.State.ExitCode, ""
	switch code {
	case 70:
		hint = ": nft does not work in it; the kernel needs nf_tables, and the daemon must grant NET_ADMIN"
	case 126, 127:
		hint = ": the image lacks a program; it needs sh, nft, redis-server, redis-cli, sleep and timeout, for this machine's kind of processor"
	}
	return explain(fmt.Errorf("the container has ended (exit code %d)%s; %s", code, hint, n.lastWords(ctx)))
}

func (n *node) closeShell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shell != nil {
		n.shell.close(errors.New("the cluster has ended"))
		n.shell = nil
	}
}

// readLog copies the container's log. What cannot be read is missed by nobody as
// much as an end that fails for it.
func (n *node) readLog(ctx context.Context) {
	out, err := n.cluster.api.ContainerLogs(ctx, n.id(), client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err == nil {
		_, err = stdcopy.StdCopy(n.log, n.log, out)
		out.Close()
	}
	if err != nil {
		n.log.Line(fmt.Sprintf("the log of the container could not be read: %v", err))
	}
}

// lastWords are what the server wrote last, for an error message.
func (n *node) lastWords(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	words := &child.Log{}
	out, err := n.cluster.api.ContainerLogs(ctx, n.id(), client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "10"})
	if err != nil {
		return fmt.Sprintf("its log cannot be read: %v", err)
	}
	defer out.Close()
	_, _ = stdcopy.StdCopy(words, words, out)
	return words.Last()
}
