package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/locks"
)

// NewRecipe returns the opener of zk-recipe:
//
//	acquire  CREATE an ephemeral sequential node; the client with the lowest number
//	         holds, and each waiter watches the node before its own
//	release  DELETE it
//
// The precautions are those of Apache Curator: the name of a node identifies its creator, so that
// a client finds its node after a lost answer; a delete without an answer is repeated for as
// long as the session lives; and a lost connection counts as a lost lock.
func NewRecipe(o Options) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		of, err := open("zk-recipe", o, c)
		if err != nil {
			return nil, err
		}
		return recipe{of}, nil
	}
}

type recipe struct{ *client }

// Acquire tries once, or waits in the queue.
func (l recipe) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	dir, s, err := l.asked(r)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: nothing was asked: %w", locks.ErrTaken, err)
	}
	n := &node{client: l.client, session: s, dir: dir, mark: "_c_" + l.tokens.Next() + "-", over: make(chan struct{})}
	// The client library takes no context, so its calls cannot be cancelled.
	limited, cancel := context.WithTimeout(ctx, r.Wait+l.options.Limit)
	go func() {
		defer cancel()
		n.result = n.take(limited, r)
		close(n.over)
	}()
	patience := time.NewTimer(r.Wait + 2*l.options.Limit)
	defer patience.Stop()
	select {
	case <-n.over:
	case <-patience.C:
		return n, errors.New("zk-recipe: acquire: no answer in time")
	case <-ctx.Done():
		// The attempt is leaving the queue.
		select {
		case <-n.over:
		case <-time.After(l.options.Limit):
			return n, fmt.Errorf("zk-recipe: acquire: %w", ctx.Err())
		}
	}
	switch {
	case n.result == nil:
		return n, nil
	case errors.Is(n.result, locks.ErrTaken):
		return nil, n.result
	}
	return n, fmt.Errorf("zk-recipe: acquire: %w", n.result)
}

// node is one attempt: a place in the queue.
type node struct {
	client    *client
	session   *session
	dir, mark string
	over      chan struct{} // closed when the attempt has ended
	result    error         // of the attempt
	token     uint64
	lost      chan struct{} // nil: the attempt was not granted

	mu      sync.Mutex
	path    string // empty: not known
	removed bool   // a server has confirmed it
	going   bool   // goOn is repeating the delete
}

var (
	_ locks.Renewed = (*node)(nil)
	_ locks.Watched = (*node)(nil)
	_ locks.Fenced  = (*node)(nil)
)

// Lease is how long a session outlives its client.
func (n *node) Lease() time.Duration { return n.session.ttl }

// Lost is closed when the client learns that the hold is lost.
func (n *node) Lost() <-chan struct{} { return n.lost }

// Token is the transaction that created the node. It grows with every grant, because nodes hold
// in the order of their creation.
func (n *node) Token() uint64 { return n.token }

// take creates a node and waits until it holds the lock. After an error the node is gone or unknown.
func (n *node) take(ctx context.Context, r locks.Request) error {
	if r.Wait == 0 {
		// A try creates no node while there are others. It syncs first, so that it does not see
		// nodes that have been deleted.
		kids, err := n.all()
		switch {
		case err == nil && len(kids) > 0:
			return fmt.Errorf("%w: there are %d nodes", locks.ErrTaken, len(kids))
		case err != nil && !errors.Is(err, zk.ErrNoNode):
			return n.nothingAsked(err)
		case ctx.Err() != nil:
			return n.nothingAsked(ctx.Err())
		}
	}
	if err := n.create(ctx); err != nil {
		if !n.gone() {
			n.goOn()
		}
		return err
	}
	if r.Queued != nil {
		r.Queued()
	}
	var waited <-chan time.Time
	if r.Wait > 0 {
		timer := time.NewTimer(r.Wait)
		defer timer.Stop()
		waited = timer.C
	}
	for {
		before, gone, err := n.before()
		switch {
		case errors.Is(err, locks.ErrTaken):
			return err
		case err != nil:
			n.leave()
			return err
		case before == "" && ctx.Err() == nil:
			return n.hold()
		case before == "":
			return n.giveUp(ctx)
		case r.Wait == 0:
			return n.leave()
		case gone == nil: // the node was deleted meanwhile
			continue
		}
		select {
		case e := <-gone:
			if e.Err != nil {
				n.leave()
				return e.Err
			}
		case <-waited:
			return n.leave()
		case <-ctx.Done():
			return n.giveUp(ctx)
		}
	}
}

// giveUp leaves the queue because the context has ended. Its error says so, because the lock may be free.
func (n *node) giveUp(ctx context.Context) error {
	err := n.leave()
	if errors.Is(err, locks.ErrTaken) {
		err = fmt.Errorf("%w: the request was given up: %w", err, ctx.Err())
	}
	return err
}

// nothingAsked is the error of an attempt that failed before it asked for a node.
func (n *node) nothingAsked(err error) error {
	n.forget()
	return fmt.Errorf("no node was asked for: %w", err)
}

func (n *node) create(ctx context.Context) error {
	conn, name := n.session.conn, n.dir+"/"+n.mark+"lock-"
	path, err := conn.Create(name, nil, zk.FlagEphemeral|zk.FlagSequence, anybody)
	if errors.Is(err, zk.ErrNoNode) {
		if _, err := conn.Create(n.dir, nil, zk.FlagPersistent, anybody); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return n.nothingAsked(err)
		}
		path, err = conn.Create(name, nil, zk.FlagEphemeral|zk.FlagSequence, anybody)
	}
	if errors.Is(err, zk.ErrConnectionClosed) {
		if found := n.findInTime(ctx); found != "" {
			path, err = found, nil
		}
	}
	if err != nil {
		return err
	}
	n.know(path)
	return nil
}

// all returns the nodes that exist now. The client's server catches up with its leader first.
func (n *node) all() ([]string, error) {
	if _, err := n.session.conn.Sync(n.dir); err != nil {
		return nil, err
	}
	kids, _, err := n.session.conn.Children(n.dir)
	return kids, err
}

// findInTime repeats find while no server answers: the library fails each request that waits for
// a connection when an attempt to connect fails.
func (n *node) findInTime(ctx context.Context) (path string) {
	tick := time.NewTicker(again)
	defer tick.Stop()
	for ctx.Err() == nil && !n.client.isClosed() {
		path, err := n.find()
		if !errors.Is(err, zk.ErrNoServer) && !errors.Is(err, zk.ErrConnectionClosed) {
			return path
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return ""
}

// find looks for a node that the client has created without receiving the answer.
func (n *node) find() (path string, err error) {
	kids, err := n.all()
	if err != nil {
		return "", err
	}
	for _, k := range kids {
		if strings.HasPrefix(k, n.mark) {
			return n.dir + "/" + k, nil
		}
	}
	return "", nil
}

// before returns the node before the client's own and a channel that reports its deletion; nil if
// it was deleted meanwhile. The name is empty if the client is the first.
func (n *node) before() (name string, gone <-chan zk.Event, err error) {
	conn, path := n.session.conn, n.where()
	kids, _, err := conn.Children(n.dir)
	if err != nil {
		return "", nil, err
	}
	own, there, best := sequence(path), false, -1
	for _, k := range kids {
		at := sequence(k)
		there = there || n.dir+"/"+k == path
		if at < own && at > best {
			name, best = k, at
		}
	}
	switch {
	case !there:
		n.forget()
		return "", nil, fmt.Errorf("%w: the node has gone, with its session", locks.ErrTaken)
	case name == "":
		return "", nil, nil
	}
	_, _, gone, err = conn.GetW(n.dir + "/" + name)
	if errors.Is(err, zk.ErrNoNode) {
		return name, nil, nil
	}
	return name, gone, err
}

// sequence is the number at the end of a name, of ten digits.
func sequence(name string) int {
	number, err := strconv.Atoi(name[max(0, len(name)-10):])
	if err != nil {
		return -1 // no node of this lock
	}
	return number
}

// hold checks that the first node is still there. Events count for the hold from before the check.
func (n *node) hold() error {
	lost, path := n.session.hold(), n.where()
	there, stat, err := n.session.conn.Exists(path)
	switch {
	case err != nil:
		n.session.drop(lost)
		n.leave()
		return err
	case !there:
		n.session.drop(lost)
		n.forget()
		return fmt.Errorf("%w: the node has gone, with its session", locks.ErrTaken)
	}
	n.lost, n.token = lost, uint64(stat.Czxid)
	return nil
}

// leave takes the node out of the queue.
func (n *node) leave() error {
	if err := n.remove(); err != nil && !errors.Is(err, locks.ErrNotHeld) {
		return err
	}
	return locks.ErrTaken
}

// remove deletes the node. If that fails, goOn repeats it.
func (n *node) remove() error {
	err := n.removeOnce()
	if err != nil && !errors.Is(err, locks.ErrNotHeld) {
		n.goOn()
	}
	return err
}

// errUnknown is the error after a create without an answer.
var errUnknown = errors.New("it is unknown whether there is a node")

func (n *node) removeOnce() error {
	path := n.where()
	if path == "" && n.gone() {
		return locks.ErrNotHeld
	}
	if path == "" {
		found, err := n.find()
		if err != nil {
			return err
		}
		path = found
	}
	if path == "" {
		return errUnknown
	}
	err := n.session.remove(path)
	if err == nil || errors.Is(err, locks.ErrNotHeld) {
		n.forget()
	}
	return err
}

// again is how long to wait between two tries of a delete.
const again = 200 * time.Millisecond

// goOn repeats the delete until a server confirms that the node is gone. It looks for a node without
// a known path until the session must have ended.
func (n *node) goOn() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.going {
		return
	}
	n.going = true
	until := time.Now().Add(2*n.session.ttl + 10*time.Second)
	go func() {
		tick := time.NewTicker(again)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-n.client.closed:
				return
			}
			err := n.removeOnce()
			if err == nil || errors.Is(err, locks.ErrNotHeld) || errors.Is(err, errUnknown) && time.Now().After(until) {
				return
			}
		}
	}()
}

// Release deletes the node.
func (n *node) Release(ctx context.Context) error {
	if n.client.isClosed() {
		return fmt.Errorf("zk-recipe: release: its session has ended, and all that it held with it: %w", locks.ErrNotHeld)
	}
	done := make(chan error, 1)
	go func() {
		<-n.over
		if n.lost != nil {
			n.session.drop(n.lost)
		}
		done <- n.remove()
	}()
	ctx, cancel := context.WithTimeout(ctx, n.client.options.Limit)
	defer cancel()
	select {
	case err := <-done:
		switch {
		case errors.Is(err, locks.ErrNotHeld):
			return err
		case err != nil:
			return fmt.Errorf("zk-recipe: release: %w", err)
		case n.lost == nil: // it was in the queue, and was not granted
			return locks.ErrNotHeld
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("zk-recipe: release: no answer: %w", ctx.Err())
	}
}

// know notes the path of the node, and forget that it is gone.
func (n *node) know(path string) { n.mu.Lock(); defer n.mu.Unlock(); n.path = path }
func (n *node) forget()          { n.mu.Lock(); defer n.mu.Unlock(); n.path, n.removed = "", true }
func (n *node) where() string    { n.mu.Lock(); defer n.mu.Unlock(); return n.path }
func (n *node) gone() bool       { n.mu.Lock(); defer n.mu.Unlock(); return n.removed }
