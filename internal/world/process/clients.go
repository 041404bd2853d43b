//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/secret"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

// Net is the network of a cluster, for its clients.
type Net interface {
	// Enter registers a client; index counts the clients of the cluster from 0.
	Enter(name string, index int) error
	// Leave removes a client that has ended.
	Leave(name string)
	// Store returns the addresses of the lock service for a guest.
	Store(name string, hello guest.Hello) (guest.StoreAddresses, error)
	// Freeze holds all traffic from and to a client, until it is called again with false.
	Freeze(name string, frozen bool)
}

// Clients are all clients of one cluster.
type Clients struct {
	Net    Net
	LogDir string
	Self   []string     // the command that serves one of lockbench's own locks, without the lock's name
	Owners *Owners      // registers the clients' processes; may be nil
	Prefix string       // begins the clients' keys at the servers
	Mask   *secret.Mask // masks secrets in what the clients write; may be nil

	preload string // the library that shifts clocks; empty: clocks are not shifted
	clocks  string // the directory of the clocks

	mu      sync.Mutex
	clients map[int]ender // nil while they are opened
}

// ender is a client that can be ended in any state.
type ender interface{ end(context.Context) error }

// stopLimit bounds the end of a client.
const stopLimit = 20 * time.Second

// Open starts a client.
func (c *Clients) Open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	client, err := c.open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", history.ClientParty(s.ID), err)
	}
	return client, nil
}

func (c *Clients) open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	if err := c.enter(s.ID); err != nil {
		return nil, err
	}
	s.KeyPrefix, s.Mask = c.Prefix, c.Mask
	if s.Opener != nil {
		return c.openInProcess(ctx, s)
	}
	ch, err := startClient(s, c.Self, c.LogDir, c.Owners, c.clockEnv)
	if err != nil {
		return nil, err
	}
	ch.net = c.Net
	c.keep(s.ID, ch)
	if err := ch.open(ctx, s); err != nil {
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		silent := errors.Is(err, guest.ErrGone) || errors.Is(err, guest.ErrNoAnswer)
		err = errors.Join(err, ch.end(ended))
		if last := ch.LastLine(); silent && last != "" {
			err = fmt.Errorf("%w; it had written last: %q", err, last)
		}
		return nil, err
	}
	return ch, nil
}

// enter reserves a client's number and registers the client with the network.
func (c *Clients) enter(id int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.clients[id]; ok {
		return errors.New("the number of this client was used before")
	}
	if c.clients == nil {
		c.clients = map[int]ender{}
	}
	if err := c.Net.Enter(history.ClientParty(id).String(), len(c.clients)); err != nil {
		return err
	}
	c.clients[id] = nil
	return nil
}

func (c *Clients) keep(id int, client ender) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients[id] = client
}

// End ends all clients in any state.
func (c *Clients) End(ctx context.Context) error {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.clients))
	c.mu.Unlock()
	return service.Each(all, func(client ender) error {
		if client == nil {
			return nil
		}
		return client.end(ctx)
	})
}

// Meet starts a user's guest without a lock service, reads its hello, and ends it.
func Meet(ctx context.Context, s world.ClientSpec) (met world.Met, err error) {
	ch, err := startClient(s, nil, "", nil, new(Clients).clockEnv)
	if err != nil {
		return met, err
	}
	met.Hello, err = ch.hello(ctx)
	met.AsksLibc = err == nil && asksLibc(ch.process)
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	return met, errors.Join(err, ch.end(ended))
}

// self returns the command that serves one of lockbench's own locks.
func self(own []string, lock string) ([]string, error) {
	if len(own) == 0 {
		path, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the lockbench executable: %w", err)
		}
		own = []string{path, "guest"}
	}
	return append(append([]string(nil), own...), lock), nil
}
