package libraries

import (
	"context"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"

	"lockbench/locks"
)

// rueidisPool is a master behind rueidis. rueidis fails if the first connection fails, so the pool creates the client when
// the master answers. Thus a master that is down does not prevent requests to the others.
type rueidisPool struct {
	options rueidis.ClientOption

	mu     sync.Mutex
	client rueidis.Client // nil: not yet
}

func newRueidisPool(s locks.Store, addr string, careful bool) (redis.Pool, func() error) {
	o := rueidisDials(s)
	o.InitAddress, o.ForceSingleClient = []string{addr}, true
	if careful {
		o.DisableRetry, o.ConnWriteTimeout = true, time.Second
	}
	p := &rueidisPool{options: o}
	_, _ = p.connected()
	return p, p.close
}

func (p *rueidisPool) Get(ctx context.Context) (redis.Conn, error) {
	c, err := p.connected()
	if err != nil {
		return nil, err
	}
	return redsyncrueidis.NewPool(rueidiscompat.NewAdapter(c)).Get(ctx)
}

func (p *rueidisPool) connected() (rueidis.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client == nil {
		c, err := rueidis.NewClient(p.options)
		if err != nil {
			return nil, err
		}
		p.client = c
	}
	return p.client, nil
}

func (p *rueidisPool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		p.client.Close()
	}
	return nil
}
