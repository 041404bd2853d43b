//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"lockbench/service"
)

// The labels of all that we make. The machine is part of them because an owner can
// only be looked for where it runs: a daemon may serve several.
const (
	ownerLabel   = "lockbench.owner"
	machineLabel = "lockbench.machine"
	nodeLabel    = "lockbench.node"
)

// owner is a cluster's claim on what carries its name.
type owner struct {
	name  string
	claim net.Listener
}

// claimOwner takes a name that nobody else has. The claim is an abstract socket: the
// kernel lets go of it when this process ends, however it ends.
func claimOwner() (*owner, error) {
	// Nothing that a run shows depends on its name, so this chance need not come from
	// its seed; runs of one seed must not meet in one name.
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	var err error
	for range 20 {
		o := &owner{name: fmt.Sprintf("%08x", rng.Uint32())}
		if o.claim, err = net.Listen("unix", claimAddress(o.name)); err == nil {
			return o, nil
		}
	}
	return nil, fmt.Errorf("claim a name for a cluster: %w", err)
}

func (o *owner) release() { o.claim.Close() }

// labels are what everything of this owner carries.
func (o *owner) labels() map[string]string {
	return map[string]string{ownerLabel: o.name, machineLabel: machine()}
}

func claimAddress(name string) string { return "@lockbench-docker-" + name }

// alive tells whether an owner on this machine lives.
func alive(name string) bool {
	l, err := net.Listen("unix", claimAddress(name))
	if err != nil {
		return true
	}
	l.Close()
	return false
}

// machine names where abstract sockets can be seen from: this boot of this kernel,
// and this network namespace of it.
func machine() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/net")
	return strings.TrimSpace(string(boot)) + " " + space
}

// leftovers is what owners on this machine have left behind that live no more.
type leftovers struct {
	of        map[string]*belongings // by owner
	strangers int                    // things of owners that cannot be looked for from here
}

// belongings are the containers and networks of one owner.
type belongings struct{ containers, networks []string }

func findLeftovers(ctx context.Context, api client.APIClient) (leftovers, error) {
	found := leftovers{of: map[string]*belongings{}}
	here := machine()
	dead := map[string]bool{} // by name, asked once
	abandoned := func(labels map[string]string) *belongings {
		if labels[machineLabel] != here {
			found.strangers++
			return nil
		}
		name := labels[ownerLabel]
		if _, asked := dead[name]; !asked {
			dead[name] = !alive(name)
		}
		if !dead[name] {
			return nil
		}
		if found.of[name] == nil {
			found.of[name] = &belongings{}
		}
		return found.of[name]
	}
	mine := client.Filters{}.Add("label", ownerLabel)
	containers, err := api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: mine})
	if err != nil {
		return found, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers.Items {
		if of := abandoned(c.Labels); of != nil {
			of.containers = append(of.containers, c.ID)
		}
	}
	networks, err := api.NetworkList(ctx, client.NetworkListOptions{Filters: mine})
	if err != nil {
		return found, fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks.Items {
		if of := abandoned(n.Labels); of != nil {
			of.networks = append(of.networks, n.ID)
		}
	}
	return found, nil
}

// sweep removes what killed runs have left behind. Two who sweep at once do not mind
// each other. It looks until nothing is left: a daemon goes on with what it was asked
// by somebody who is dead, and a container may appear after the first look. What the
// daemon does not let go of is left; [World.Report] tells of it.
func sweep(ctx context.Context, api client.APIClient) error {
	ctx, cancel := contextWithLimit(ctx, stopLimit, "remove what a killed run has left behind")
	defer cancel()
	for {
		found, err := findLeftovers(ctx, api)
		if err != nil {
			return err
		}
		var removed atomic.Bool
		err = service.Each(slices.Collect(maps.Values(found.of)), func(b *belongings) error {
			some, err := b.remove(ctx, api)
			if some {
				removed.Store(true)
			}
			return err
		})
		if err != nil || !removed.Load() {
			return err
		}
	}
}

// remove removes one container after the other, see [cluster].joining, and then the
// networks. It tells whether there was anything that the daemon let go of.
func (b *belongings) remove(ctx context.Context, api client.APIClient) (some bool, err error) {
	for _, id := range b.containers {
		if err := removeContainer(ctx, api, id); err != nil {
			return some, err
		}
		some = true
	}
	for _, id := range b.networks {
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

func removeContainer(ctx context.Context, api client.APIClient, id string) error {
	_, err := api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !gone(err) {
		return fmt.Errorf("remove a container: %w", err)
	}
	return awaitGone(ctx, func() error {
		_, err := api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		return err
	})
}

// errMiscounted is a network in which the daemon believes somebody whom it cannot name.
// Nobody is; it has lost count (moby's issue 42119). It does no harm but to be there.
var errMiscounted = errors.New("the daemon does not let go of the network, although nothing is in it any more; " +
	"when it is restarted, the next run removes it")

func removeNetwork(ctx context.Context, api client.APIClient, id string) error {
	_, err := api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if err == nil || gone(err) {
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

// gone tells whether what was to be removed is not there any more, or is being
// removed by somebody else.
func gone(err error) bool {
	return errdefs.IsNotFound(err) || strings.Contains(err.Error(), "is already in progress")
}

// awaitGone asks until the answer is that there is no such thing.
func awaitGone(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		switch {
		case errdefs.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of a container: %w", context.Cause(ctx))
		}
	}
}
