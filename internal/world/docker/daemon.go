//go:build linux

package docker

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// prepare sets the environment of testcontainers-go before its first use.
var prepare = sync.OnceFunc(func() {
	log.SetDefault(log.NewNoopLogger())
	for name, value := range map[string]string{
		// Its reaper is a container whose image may be unavailable. The cleaner and the next run remove leftovers by
		// our labels.
		"TESTCONTAINERS_RYUK_DISABLED": "true",
		// In a container the library would use the gateway, but ports are published on loopback only.
		"TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
	} {
		_ = os.Setenv(name, value) // fails only for malformed names
	}
})

// connect finds the daemon as the docker command does: by DOCKER_HOST, by the current context, at the default
// sockets.
func connect() (*testcontainers.DockerProvider, error) {
	said := os.Getenv("DOCKER_HOST")
	if _, err := client.ParseHostURL(said); said != "" && err != nil {
		// The library would try the default sockets with it and report an error for each.
		return nil, fmt.Errorf("DOCKER_HOST is %q, which is not an address of a Docker daemon: use unix:///var/run/docker.sock or tcp://HOST:PORT, or unset it", said)
	}
	prepare()
	p, err := testcontainers.NewDockerProvider(
		testcontainers.WithLogger(log.NewNoopLogger()),
		// Else it creates a network of its own and never removes it.
		testcontainers.WithDefaultBridgeNetwork(testcontainers.Bridge),
	)
	if err != nil {
		return nil, explain(err)
	}
	// If this daemon does not answer, the library tries the default sockets, which the user did not ask for.
	if said != "" && p.Client().DaemonHost() != said {
		return nil, fmt.Errorf("no Docker daemon answers at %s, as DOCKER_HOST says: start it, or unset DOCKER_HOST for the one at %s",
			said, p.Client().DaemonHost())
	}
	return p, nil
}

// remedies are suggestions for errors of a daemon, by their words.
var remedies = []struct {
	words  []string
	remedy string
}{
	{[]string{"permission denied while trying to connect", "connect: permission denied"},
		"this user may not talk to the Docker daemon: join the group docker (sudo usermod -aG docker $USER, then log in again)"},
	{[]string{"Cannot connect to the Docker daemon", "connection refused", "docker.sock: connect: no such file", "rootless Docker not found", "docker socket", "failed to connect to the docker API"},
		"no Docker daemon answers: start it (sudo systemctl start docker), or say with DOCKER_HOST where it is"},
	{[]string{"no space left on device"},
		"the disk on which Docker keeps its data is full: make room (docker system df says what takes it, docker system prune removes what is not used)"},
	{[]string{"exec format error", "does not match the specified platform", "does not match the detected host platform"},
		"the image is for another kind of processor than this machine's: name another one with --image NAME=IMAGE, or leave it to lockbench to build one"},
	{[]string{"port is already allocated", "address already in use"},
		"another program has taken a port on 127.0.0.1 that was free: try again"},
	{[]string{"Pool overlaps", "could not find an available"},
		"Docker finds no free range of addresses: docker network prune removes networks that are not used"},
}

// oneLine returns an error on one line.
type oneLine struct{ error }

func (e oneLine) Error() string {
	return strings.ReplaceAll(strings.TrimSpace(e.error.Error()), "\n", "; ")
}

func (e oneLine) Unwrap() error { return e.error }

// explain puts the remedy before the error of the daemon.
func explain(err error) error {
	if err == nil {
		return nil
	}
	for _, r := range remedies {
		for _, words := range r.words {
			if strings.Contains(err.Error(), words) {
				return fmt.Errorf("%s (%w)", r.remedy, oneLine{err})
			}
		}
	}
	return err
}

// daemonVersion returns the version of the daemon.
func daemonVersion(ctx context.Context, api client.APIClient) (string, error) {
	v, err := api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", explain(err)
	}
	if v.Os != "linux" {
		return "", fmt.Errorf("the Docker daemon runs %s containers, and lockbench needs Linux ones", v.Os)
	}
	return v.Version, nil
}

// daemonGone is the error of a run whose daemon ended. It replaces the errors of all servers.
type daemonGone struct{ now, first error }

func (e *daemonGone) Error() string {
	return fmt.Sprintf("the Docker daemon went away in the middle of the run; what is left there is removed when a run starts next: %v", explain(e.now))
}

func (e *daemonGone) Unwrap() []error { return []error{e.now, e.first} }

// blame returns daemonGone if the daemon does not answer any more.
func blame(api client.APIClient, err error) error {
	if err == nil {
		return nil
	}
	ctx, cancel := contextWithLimit(context.Background(), daemonLimit, "ask the Docker daemon")
	defer cancel()
	if _, now := api.Ping(ctx, client.PingOptions{}); now != nil {
		return &daemonGone{now, err}
	}
	return err
}
