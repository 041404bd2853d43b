package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"lockbench/internal/service/kubernetes"
	"lockbench/locks"
)

// claims are the capabilities of the lock.
var claims = locks.Claims{Renewed: true, Watched: true, Waits: true}

// open returns the opener of the lock with options such as lease=3s.
func open(words []string) (locks.Opener, error) {
	s, err := parse(words)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		servers := c.Store.Endpoints[kubernetes.APIServers]
		if len(servers) == 0 {
			return nil, fmt.Errorf("%w: kube-lease is for %s, and not for %q", locks.ErrUnsupported, kubernetes.Name, c.Store.Service)
		}
		config := &rest.Config{
			Host:            "https://" + kubernetes.Name,
			BearerToken:     c.Store.Params[kubernetes.Token],
			TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // API servers sign their own certificates
			Dial:            dialer(c, servers),
		}
		transport, err := rest.TransportFor(config)
		if err != nil {
			return nil, err
		}
		return &locker{client: c, settings: s, config: config, transport: transport}, nil
	}, nil
}

// adds kube-lease: connections to all API servers under one name, as through a load balancer

// dialer returns a function that connects to the first API server that accepts the connection. Clients begin at different
// API servers.
func dialer(c locks.Client, servers []locks.Node) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := c.Store.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		var errs []error
		for i := range servers {
			conn, err := dial(ctx, network, servers[(c.ID+i)%len(servers)].Addr)
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	}
}

type locker struct {
	client    locks.Client
	settings  settings
	config    *rest.Config
	transport http.RoundTripper

	mu       sync.Mutex
	attempts int
}

func (l *locker) Close() error { return nil }

// identity returns a new name for a candidate.
func (l *locker) identity() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts++
	return fmt.Sprintf("client-%d-%d-%08x", l.client.ID, l.attempts, l.client.Rand.Uint32())
}

// Acquire runs an elector until it leads.
func (l *locker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	switch {
	case len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "":
		return nil, fmt.Errorf("kube-lease: requests must have one key, exclusive mode and no owner: %w", locks.ErrUnsupported)
	case r.Wait <= 0:
		return nil, fmt.Errorf("kube-lease: %w: it can only wait; run kube-lease/wait=30s", locks.ErrUnsupported)
	}
	d := l.settings.durations(r.TTL)
	leases, err := coordination.NewForConfigAndClient(l.config, &http.Client{Transport: l.transport, Timeout: d.timeout})
	if err != nil {
		return nil, err
	}
	// adds kube-lease: an elector with a new identity for each acquire, as a process has that starts again; a context that ends with the wait; and valid names of objects
	run, stop := context.WithCancel(context.Background())
	held := &lease{
		stop: stop, length: d.lease, period: d.retry,
		started: make(chan struct{}), stopped: make(chan struct{}), returned: make(chan struct{}),
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: l.client.Store.Params[kubernetes.Namespace], Name: objectName(r.Keys[0])},
			Client:     leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.identity()},
		},
		LeaseDuration: d.lease, RenewDeadline: d.renew, RetryPeriod: d.retry, ReleaseOnCancel: l.settings.release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(held.started) },
			OnStoppedLeading: func() { close(held.stopped) },
		},
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("kube-lease: %w: %w", locks.ErrUnsupported, err)
	}
	go func() {
		elector.Run(run)
		close(held.returned)
	}()
	limit := time.NewTimer(r.Wait)
	defer limit.Stop()
	select {
	case <-held.started:
		return held, nil
	case <-limit.C:
		err = errors.New("it did not lead before the end of the wait")
	case <-ctx.Done():
		err = ctx.Err()
	}
	// The library does not report whether a request of the elector was still without an answer.
	stop()
	return held, fmt.Errorf("kube-lease: %w", err)
}

// lease is an elector.
type lease struct {
	stop             func()
	length, period   time.Duration
	started, stopped chan struct{} // closed by the callbacks
	returned         chan struct{} // closed when Run has returned
}

var (
	_ locks.Renewed = (*lease)(nil)
	_ locks.Paced   = (*lease)(nil)
	_ locks.Watched = (*lease)(nil)
)

func (l *lease) Lease() time.Duration  { return l.length }
func (l *lease) Period() time.Duration { return l.period }
func (l *lease) Lost() <-chan struct{} { return l.stopped }

// Release ends the elector, which does not report whether it released the lease.
func (l *lease) Release(ctx context.Context) error {
	l.stop()
	select {
	case <-l.returned:
		return locks.ErrUnconfirmed
	case <-ctx.Done():
		return fmt.Errorf("kube-lease: the elector has not ended: %w", ctx.Err())
	}
}

// plain matches keys that can be part of the name of an object.
var plain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,200}[a-z0-9])?$`)

// objectName returns the name of the Lease of a key.
func objectName(key string) string {
	if plain.MatchString(key) {
		return "lock." + key
	}
	return fmt.Sprintf("sum.%x", sha256.Sum256([]byte(key)))
}
