//go:build linux

package docker

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"lockbench/internal/needs"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// refusal is an error answer of a daemon to a request.
type refusal struct {
	method, path string // the path with * for an id: "/containers/*/start"
	times        int    // the number of refusals; 0: always
	status       int
	message      string
}

func (r refusal) meets(q *http.Request) bool {
	_, path, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v"), "/") // without the version
	begin, end, _ := strings.Cut(r.path, "*")
	path = "/" + path
	return q.Method == r.method && strings.HasPrefix(path, begin) && strings.HasSuffix(path, end)
}

// behind returns a world with the real daemon, except for the refused requests.
func behind(t *testing.T, refusals ...refusal) *World {
	t.Helper()
	w := newWorld(t)
	host, isFile := strings.CutPrefix(w.state.provider.Client().DaemonHost(), "unix://")
	if !isFile {
		needs.OrSkip(t, "docker", errors.New("the daemon is not at a socket but at "+host))
	}
	onward := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", host)
	}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "docker"})
	proxy.Transport, proxy.FlushInterval = onward, -1
	var mu sync.Mutex
	met := make([]int, len(refusals))
	refuse := func(q *http.Request) (refusal, bool) {
		mu.Lock()
		defer mu.Unlock()
		for k, r := range refusals {
			if r.meets(q) && (r.times == 0 || met[k] < r.times) {
				met[k]++
				return r, true
			}
		}
		return refusal{}, false
	}
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(out http.ResponseWriter, q *http.Request) {
			if r, ok := refuse(q); ok {
				out.Header().Set("Content-Type", "application/json")
				out.WriteHeader(r.status)
				_ = json.NewEncoder(out).Encode(map[string]string{"message": r.message})
				return
			}
			proxy.ServeHTTP(out, q)
		}),
	}
	go func() { _ = server.Serve(l) }()
	api, err := client.New(client.WithHost("unix://" + socket))
	if err != nil {
		t.Fatal(err)
	}
	provider, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	provider.SetClient(api)
	t.Cleanup(func() {
		_ = provider.Close()
		_ = server.Close()
		onward.CloseIdleConnections()
		for k, r := range refusals {
			if met[k] == 0 {
				t.Errorf("the refused request %s %s was not made", r.method, r.path)
			}
		}
	})
	refusing := New(Options{Services: onlyRedis, Self: w.options.Self})
	refusing.state.provider = provider
	return refusing
}

// TestRefusals checks that requests that a daemon may refuse because of the machine lead to an error with a remedy, and
// that nothing is left.
func TestRefusals(t *testing.T) {
	for name, try := range map[string]struct {
		refusals []refusal
		want     []string
	}{
		"disk full, container": {
			[]refusal{{"POST", "/containers/create", 0, 500, "mkdir /var/lib/docker/overlay2/1: no space left on device"}},
			[]string{"the disk on which Docker keeps its data is full", "docker system df"},
		},
		"disk full, image": {
			[]refusal{
				{"GET", "/images/*/json", 0, 404, "No such image"},
				{"POST", "/images/create", 0, 500, "Error processing tar file(exit status 1): write /bin/nft: no space left on device"},
			},
			[]string{"the disk on which Docker keeps its data is full", "docker system df"},
		},
		"no free range": {
			[]refusal{{"POST", "/networks/create", 0, 403, "Pool overlaps with other one on this address space"}},
			[]string{"no free range of addresses", "docker network prune"},
		},
		"no free port": {
			[]refusal{{"POST", "/containers/*/start", 0, 500, "driver failed programming external connectivity: Bind for 127.0.0.1:1 failed: port is already allocated"}},
			[]string{"another program has taken a port", "try again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := behind(t, try.refusals...)
			before, err := findLeftovers(t.Context(), w.state.provider.Client(), "")
			if err != nil {
				t.Fatal(err)
			}
			err = w.Ready(t.Context())
			if err == nil {
				t.Fatal("it should not be ready")
			}
			for _, want := range try.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %q, want %q in one line", err, want)
				}
			}
			after, err := findLeftovers(t.Context(), w.state.provider.Client(), "")
			if err != nil {
				t.Error(err)
			}
			for _, id := range append(after.containers, after.networks...) {
				if !slices.Contains(append(before.containers, before.networks...), id) {
					t.Errorf("%s is left", id)
				}
			}
		})
	}
}

// TestTakenMeanwhile: another range is chosen if one was taken meanwhile.
func TestTakenMeanwhile(t *testing.T) {
	w := behind(t,
		refusal{"POST", "/networks/create", 2, 403, "Pool overlaps with other one on this address space"},
	)
	if err := w.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestMiscountedNetwork checks that a daemon that does not remove an empty network affects neither the run nor the next one, and
// is reported.
func TestMiscountedNetwork(t *testing.T) {
	w := behind(t, refusal{"DELETE", "/networks/*", 0, 403, "error while removing network: network x has active endpoints"})
	var said []string
	w.options.Say = func(line string) { said = append(said, line) }
	var owner string
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := w.with(t.Context(), redistest.Spec(locks.Single, world.Spec{}), func(_ context.Context, b *backend) error {
		owner = b.owner.name
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	api := w.state.provider.Client()
	if err := sweep(t.Context(), api, "", 0); err != nil {
		t.Error(err)
	}
	if lines := strings.Join(w.Report(t.Context()), "\n"); !strings.Contains(lines, "does not let go of") {
		t.Errorf("a report should tell of it: %s", lines)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, owner) {
		t.Errorf("it said %q", all)
	}
	// The real daemon removes the network.
	right := newWorld(t)
	if err := sweep(t.Context(), right.state.provider.Client(), "", 0); err != nil {
		t.Error(err)
	}
	nothingLeft(t, right, owner)
}

// TestInterruptedWhileMaking checks the clean-up for a daemon that completes interrupted requests.
func TestInterruptedWhileMaking(t *testing.T) {
	for _, what := range []string{"container", "network"} {
		t.Run(what, func(t *testing.T) {
			w := behind(t)
			if err := w.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			interrupted := errors.New("interrupted")
			made := &interruptedMaking{APIClient: w.state.provider.Client(), what: what, interrupt: func() { cancel(interrupted) }}
			w.state.provider.SetClient(made)
			err := w.Run(ctx, redistest.Spec(locks.Replicated, world.Spec{}), func(context.Context, world.Cluster) error {
				t.Error("there is no cluster")
				return nil
			})
			if !errors.Is(err, interrupted) {
				t.Errorf("got %v", err)
			}
			if made.owner == "" {
				t.Error("nothing was made")
			}
			nothingLeft(t, w, made.owner)
		})
	}
}

// interruptedMaking is a daemon that is creating a container when the run is interrupted.
type interruptedMaking struct {
	client.APIClient
	what      string
	interrupt func()
	mu        sync.Mutex
	owner     string
}

func (m *interruptedMaking) meanwhile(ctx context.Context, what string, labels map[string]string, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owner = labels[ownerLabel]
	if what == m.what {
		m.interrupt()
	}
	return errors.Join(err, ctx.Err())
}

func (m *interruptedMaking) ContainerCreate(ctx context.Context, o client.ContainerCreateOptions) (client.ContainerCreateResult, error) {
	made, err := m.APIClient.ContainerCreate(context.WithoutCancel(ctx), o)
	return made, m.meanwhile(ctx, "container", o.Config.Labels, err)
}

func (m *interruptedMaking) NetworkCreate(ctx context.Context, name string, o client.NetworkCreateOptions) (client.NetworkCreateResult, error) {
	made, err := m.APIClient.NetworkCreate(context.WithoutCancel(ctx), name, o)
	return made, m.meanwhile(ctx, "network", o.Labels, err)
}

// TestSweepLooksAgain checks that the clean-up finds a container that the daemon completes after the first search.
func TestSweepLooksAgain(t *testing.T) {
	w := newWorld(t)
	api := w.state.provider.Client()
	o, err := claimOwner()
	if err != nil {
		t.Fatal(err)
	}
	net, err := createNetwork(t.Context(), api, o)
	if err != nil {
		t.Fatal(err)
	}
	o.release()
	late := &lateContainer{APIClient: api, create: func() error {
		_, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Config:           &container.Config{Image: w.state.images[redis.Name].Name, Cmd: []string{"sh"}, Labels: o.labels()},
			HostConfig:       &container.HostConfig{NetworkMode: container.NetworkMode(net.name)},
			NetworkingConfig: &network.NetworkingConfig{},
		})
		return err
	}}
	if err := sweep(t.Context(), late, "", 0); err != nil {
		t.Error(err)
	}
	nothingLeft(t, w, o.name)
}

// lateContainer is a daemon that creates a container right after the first search.
type lateContainer struct {
	client.APIClient
	create func() error
}

func (l *lateContainer) ContainerList(ctx context.Context, o client.ContainerListOptions) (client.ContainerListResult, error) {
	found, err := l.APIClient.ContainerList(ctx, o)
	if l.create != nil {
		err = errors.Join(err, l.create())
		l.create = nil
	}
	return found, err
}
