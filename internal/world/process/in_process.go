//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
)

// inProcess is a client whose lock runs as goroutines of this process. Its pause holds its
// protocol and its links, since goroutines cannot be stopped.
type inProcess struct {
	net    Net
	name   string
	conn   *guest.Conn
	gate   guest.Gate
	cancel context.CancelFunc
	stop   func() error
	once   sync.Once

	mu    sync.Mutex
	dead  bool
	conns map[net.Conn]struct{}
}

var _ world.Client = (*inProcess)(nil)

func (c *Clients) openInProcess(ctx context.Context, s world.ClientSpec) (*inProcess, error) {
	p := &inProcess{net: c.Net, name: history.ClientParty(s.ID).String(), conns: map[net.Conn]struct{}{}}
	hello := guest.Hello{Name: s.Lock, SourceAddress: true, AddrMap: true}
	addresses, err := c.Net.Store(p.name, hello)
	if err != nil {
		return nil, err
	}
	store, err := addresses.Store()
	if err != nil {
		return nil, err
	}
	store.Dial = p.dialer(store.Dial)
	client := locks.Client{ID: s.ID, Rand: rand.New(rand.NewPCG(s.Seed, uint64(s.ID))), Store: store}
	// The client outlives the call that opens it.
	var life context.Context
	life, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.conn, p.stop = guest.InProcess(life, hello, s.Opener, client, &p.gate, s.ConnOptions())
	c.keep(s.ID, p)
	_, err = p.conn.Hello(ctx)
	if err == nil {
		err = p.conn.Open(ctx, guest.Request{Client: s.ID, Lock: s.Lock, Options: s.Options, Seed: s.Seed})
	}
	if err != nil {
		return nil, errors.Join(err, p.end(ctx))
	}
	return p, nil
}

// dialer wraps the store's dialer to track connections, which Kill closes.
func (p *inProcess) dialer(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		t := &tracked{c, p}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.dead {
			c.Close()
			return nil, fmt.Errorf("%s was killed: %w", p.name, net.ErrClosed)
		}
		p.conns[t] = struct{}{}
		return t, nil
	}
}

// tracked is a connection that Kill closes.
type tracked struct {
	net.Conn
	of *inProcess
}

func (t *tracked) Close() error {
	t.of.mu.Lock()
	delete(t.of.conns, t)
	t.of.mu.Unlock()
	return t.Conn.Close()
}

// Conn returns the connection to the lock.
func (p *inProcess) Conn() *guest.Conn { return p.conn }

// Pause holds the client's protocol and links.
func (p *inProcess) Pause(context.Context) error {
	p.gate.Hold()
	p.net.Freeze(p.name, true)
	return nil
}

// Resume ends Pause.
func (p *inProcess) Resume(context.Context) error {
	p.net.Freeze(p.name, false)
	p.gate.Release()
	return nil
}

// Kill closes all connections first, so that the client sends nothing more, then ends its goroutines.
func (p *inProcess) Kill(context.Context) error {
	p.mu.Lock()
	p.dead = true
	for c := range p.conns {
		delete(p.conns, c)
		c.(*tracked).Conn.Close()
	}
	p.mu.Unlock()
	return p.finish()
}

// Close closes the client.
func (p *inProcess) Close(ctx context.Context) error {
	err := p.conn.Close(ctx)
	return errors.Join(err, p.finish())
}

func (p *inProcess) end(ctx context.Context) error {
	p.gate.Release()
	return p.Kill(ctx)
}

func (p *inProcess) finish() error {
	var err error
	p.once.Do(func() {
		p.cancel()
		err = p.stop()
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("end %s: %w", p.name, err)
	}
	return nil
}
