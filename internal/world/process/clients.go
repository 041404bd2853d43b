//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/world"
)

// Net is a cluster's network, as its clients find it.
type Net interface {
	// Enter makes a client known; index counts the clients of the cluster from 0.
	Enter(name string, index int) error
	// Leave tells that it is gone.
	Leave(name string)
	// Store tells a guest where the lock service is, by the addresses that suit it.
	Store(name string, hello guest.Hello) (guest.StoreAddresses, error)
	// Freeze holds everything from and to a client, and Thaw lets it go on.
	Freeze(name string)
	Thaw(name string)
}

// Clients are all clients of one cluster. The first use starts nothing.
type Clients struct {
	Net    Net
	LogDir string
	Self   []string // the command that serves a lock of lockbench's own, without the lock's name
	Owners *Owners  // learns which processes the clients are; may be nil

	preload     string // path of the library that shifts clocks; empty: none is shifted
	clocks      string // the folder of the clocks
	clocksReady error  // why they cannot be shifted

	mu      sync.Mutex
	clients map[int]opened
}

// opened is a client that can be ended whatever it does.
type opened interface {
	world.Client
	end(ctx context.Context) error
}

// stopLimit bounds the end of a client, which is killed and has nobody to ask.
const stopLimit = 20 * time.Second

// Open starts a client.
func (c *Clients) Open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	client, err := c.open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", history.ClientParty(s.ID), err)
	}
	return client, nil
}

func (c *Clients) open(ctx context.Context, s world.ClientSpec) (opened, error) {
	if err := c.enter(s.ID); err != nil {
		return nil, err
	}
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

// enter takes a number, and makes its client known to the network.
func (c *Clients) enter(id int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.clients[id]; ok {
		return errors.New("this number was used before, and the links of two clients would be one")
	}
	if c.clients == nil {
		c.clients = map[int]opened{}
	}
	if err := c.Net.Enter(history.ClientParty(id).String(), len(c.clients)); err != nil {
		return err
	}
	c.clients[id] = nobody{}
	return nil
}

func (c *Clients) keep(id int, o opened) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients[id] = o
}

// End ends all clients, in whatever state they are.
func (c *Clients) End(ctx context.Context) error {
	c.mu.Lock()
	all := make([]opened, 0, len(c.clients))
	for _, o := range c.clients {
		all = append(all, o)
	}
	c.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, o := range all {
		wg.Go(func() { errs[i] = o.end(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Meet starts a guest of somebody's own without any lock service, hears its hello,
// and ends it.
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

// self is the command that serves a lock of lockbench's own.
func self(own []string, lock string) ([]string, error) {
	if len(own) == 0 {
		path, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program's own file: %w", err)
		}
		own = []string{path, "guest"}
	}
	return append(append([]string(nil), own...), lock), nil
}

// nobody stands for a number that is taken by a client which is not there (yet).
type nobody struct{ opened }

func (nobody) end(context.Context) error { return nil }
