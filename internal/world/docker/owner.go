//go:build linux

package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"lockbench/internal/service"
)

// The labels of all our objects. The machine is one of them, because an owner can only be checked on its machine,
// and a daemon may serve several.
const (
	ownerLabel   = "lockbench.owner"
	machineLabel = "lockbench.machine"
	nodeLabel    = "lockbench.node"
)

// owner is a cluster's claim on all objects with its name.
type owner struct {
	name  string
	claim net.Listener
}

// claimOwner claims a name that is not used. The claim is an abstract socket, which the kernel closes however this
// process ends.
func claimOwner() (*owner, error) {
	name := strings.ToLower(rand.Text()[:10])
	claim, err := net.Listen("unix", claimAddress(name))
	if err != nil {
		return nil, fmt.Errorf("claim a name for a cluster: %w", err)
	}
	return &owner{name, claim}, nil
}

func (o *owner) release() { o.claim.Close() }

// labels returns the labels of this owner.
func (o *owner) labels() map[string]string {
	return map[string]string{ownerLabel: o.name, machineLabel: machine()}
}

func claimAddress(name string) string { return "@lockbench-docker-" + name }

// alive reports whether an owner on this machine lives.
func alive(name string) bool {
	l, err := net.Listen("unix", claimAddress(name))
	if err != nil {
		return true
	}
	l.Close()
	return false
}

// machine identifies the scope of abstract sockets: this boot of this kernel, and this network namespace.
func machine() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/net")
	return strings.TrimSpace(string(boot)) + " " + space
}

// leftovers are the objects of dead owners on this machine, by their IDs.
type leftovers struct {
	containers, networks []string
	uncheckable          int // objects of owners that cannot be checked from here
}

// findLeftovers finds the objects of a dead owner; with an empty name, of all.
func findLeftovers(ctx context.Context, api client.APIClient, owner string) (found leftovers, err error) {
	here := machine()
	abandoned := func(labels map[string]string) bool {
		if labels[machineLabel] != here {
			found.uncheckable++
			return false
		}
		return !alive(labels[ownerLabel])
	}
	label := ownerLabel
	if owner != "" {
		label += "=" + owner
	}
	mine := client.Filters{}.Add("label", label)
	containers, err := api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: mine})
	if err != nil {
		return found, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers.Items {
		if abandoned(c.Labels) {
			found.containers = append(found.containers, c.ID)
		}
	}
	networks, err := api.NetworkList(ctx, client.NetworkListOptions{Filters: mine})
	if err != nil {
		return found, fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks.Items {
		if abandoned(n.Labels) {
			found.networks = append(found.networks, n.ID)
		}
	}
	return found, nil
}

// SweepAfter waits for the end of life, and then removes the objects of an owner.
func SweepAfter(ctx context.Context, life io.Reader, owner string) error {
	if owner == "" || strings.ContainsAny(owner, "=,") {
		return fmt.Errorf("%q is not the name of an owner", owner)
	}
	if _, err := io.Copy(io.Discard, life); err != nil {
		return fmt.Errorf("wait for the end of a run: %w", err)
	}
	provider, err := connect()
	if err != nil {
		return err
	}
	return sweep(ctx, provider.Client(), owner, lateFor)
}

// lateFor is how long after an owner's end its objects may still appear, since a daemon completes the requests of
// dead processes.
const lateFor = 5 * time.Second

// sweep removes the objects of a dead owner; with an empty name, of all. Two sweeps may run concurrently. It ends
// when the daemon has removed nothing for this long. Objects that the daemon fails to remove stay; [World.Report]
// lists them.
func sweep(ctx context.Context, api client.APIClient, owner string, quiet time.Duration) error {
	ctx, cancel := contextWithLimit(ctx, stopLimit, "remove what a killed run has left behind")
	defer cancel()
	for last := time.Now(); ; {
		found, err := findLeftovers(ctx, api, owner)
		some := false
		if err == nil {
			some, err = found.remove(ctx, api)
		}
		switch {
		case some:
			last = time.Now()
		case time.Since(last) >= quiet:
			return err
		}
		select {
		case <-time.After(min(quiet, 100*time.Millisecond)):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// remove removes the containers one after the other, see [Cluster].joining, and then the networks. It reports
// whether the daemon removed anything.
func (l leftovers) remove(ctx context.Context, api client.APIClient) (some bool, err error) {
	for _, id := range l.containers {
		if err := removeContainer(ctx, api, id); err != nil {
			return some, err
		}
		some = true
	}
	for _, id := range l.networks {
		switch err := removeNetwork(ctx, api, id); {
		case errors.Is(err, errMiscounted):
		case err != nil:
			return some, err
		default:
			some = true
		}
	}
	return some, nil
}

// removeContainer removes a container, or waits until another process has removed it.
func removeContainer(ctx context.Context, api client.APIClient, id string) error {
	var failed error
	err := service.Poll(ctx, func() error {
		_, err := api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && strings.Contains(err.Error(), "is already in progress") {
			return err
		}
		if failed = err; errdefs.IsNotFound(err) {
			failed = nil
		}
		return nil
	})
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("remove a container: %w", err)
	}
	return nil
}

// errMiscounted is the error for a network in which the daemon counts an endpoint that does not exist (moby issue
// 42119). Such a network is harmless.
var errMiscounted = errors.New("the daemon does not let go of the network, although nothing is in it any more; " +
	"when it is restarted, the next run removes it")

func removeNetwork(ctx context.Context, api client.APIClient, id string) error {
	_, err := api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	if strings.Contains(err.Error(), "has active endpoints") {
		found, inspectErr := api.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
		if inspectErr == nil && len(found.Network.Containers) == 0 {
			return fmt.Errorf("%w (%w)", errMiscounted, oneLine{err})
		}
	}
	return fmt.Errorf("remove a network: %w", err)
}
