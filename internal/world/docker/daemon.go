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

// prepare sets what testcontainers-go reads once, before its first use.
var prepare = sync.OnceFunc(func() {
	log.SetDefault(log.NewNoopLogger())
	for name, value := range map[string]string{
		// Its reaper is a container whose image may not be to be had; what we leave
		// behind we sweep by labels of our own.
		"TESTCONTAINERS_RYUK_DISABLED": "true",
		// Where this machine is itself a container it would name the gateway, and our
		// ports are published on loopback alone.
		"TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
	} {
		_ = os.Setenv(name, value) // fails for malformed names only
	}
})

// connect finds the daemon as docker's own command does: by DOCKER_HOST, by the
// context that is in use, at the usual places.
func connect() (*testcontainers.DockerProvider, error) {
	said := os.Getenv("DOCKER_HOST")
	if _, err := client.ParseHostURL(said); said != "" && err != nil {
		// The library would look at the usual places with it too, and complain of each.
		return nil, fmt.Errorf("DOCKER_HOST is %q, and that is no address of a Docker daemon: write it as unix:///var/run/docker.sock or tcp://HOST:PORT, or unset it", said)
	}
	prepare()
	p, err := testcontainers.NewDockerProvider(
		testcontainers.WithLogger(log.NewNoopLogger()),
		// Or it makes a network of its own, which nobody would remove.
		testcontainers.WithDefaultBridgeNetwork(testcontainers.Bridge),
	)
	if err != nil {
		return nil, explain(err)
	}
	// Where nobody answers the library goes on to the usual places. Somebody who has
	// said which daemon it is to be does not want another.
	if said != "" && p.Client().DaemonHost() != said {
		return nil, fmt.Errorf("no Docker daemon answers at %s, as DOCKER_HOST says: start it, or unset DOCKER_HOST for the one at %s",
			said, p.Client().DaemonHost())
	}
	return p, nil
}

// remedies are what to do about the errors of a daemon, by words that it uses.
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
		"somebody has taken a port on 127.0.0.1 that was free a moment ago: try again"},
	{[]string{"Pool overlaps", "could not find an available"},
		"Docker finds no free range of addresses: docker network prune removes networks that are not used"},
}

// oneLine is an error in one line, whatever the library makes of it.
type oneLine struct{ error }

func (e oneLine) Error() string {
	return strings.ReplaceAll(strings.TrimSpace(e.error.Error()), "\n", "; ")
}

func (e oneLine) Unwrap() error { return e.error }

// explain puts what to do before what the daemon says.
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

// daemonVersion asks the daemon who it is.
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

// daemonGone is the end of a run whose daemon ended before it. Each server then has
// its own complaint, and they all mean this.
type daemonGone struct{ now, first error }

func (e *daemonGone) Error() string {
	return fmt.Sprintf("the Docker daemon went away in the middle of the run; what is left there is removed when a run starts next: %v", explain(e.now))
}

func (e *daemonGone) Unwrap() []error { return []error{e.now, e.first} }

// blame looks whether what went wrong did so because the daemon is not there any more.
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
