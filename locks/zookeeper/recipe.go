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
//	acquire  CREATE an ephemeral sequential node; who has the lowest number holds, and
//	         who waits watches the node before its own
//	release  DELETE it
//
// The precautions are those of Apache Curator: the name of a node says who made it, so that
// one whose answer was lost is found again; a delete without an answer is done again, for as
// long as the session lives; and a connection that is lost is a lock that is lost.
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

// Acquire asks once, or waits in the queue.
func (l recipe) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	dir, s, err := l.asked(r)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: nothing was asked: %w", locks.ErrTaken, err)
	}
	n := &node{client: l.client, session: s, dir: dir, over: make(chan struct{})}
	if !l.options.Unprotected {
		n.mark = "_c_" + l.tokens.Next() + "-"
	}
	// The client library takes no context: what it does ends when it ends.
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
		// It is on its way out of the queue.
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

// node is one tenure: a place in the queue.
type node struct {
	client    *client
	session   *session
	dir, mark string
	over      chan struct{} // closed when the attempt has ended
	result    error         // of it
	token     uint64
	lost      chan struct{} // nil: it was not granted

	mu      sync.Mutex
	path    string // empty: none that is known
	removed bool   // a server said so
	going   bool   // somebody repeats the delete
}

var (
	_ locks.Renewed = (*node)(nil)
	_ locks.Watched = (*node)(nil)
	_ locks.Fenced  = (*node)(nil)
)

// Lease is how long a session outlives its client.
func (n *node) Lease() time.Duration { return n.session.ttl }

// Lost is closed when the hold is lost, as far as the client can know.
func (n *node) Lost() <-chan struct{} { return n.lost }

// Token is the transaction by which the node was made, or its number. Whoever holds later has
// made his later.
func (n *node) Token() uint64 { return n.token }

// take makes a node and holds, or is out of the queue again, or does not know.
func (n *node) take(ctx context.Context, r locks.Request) error {
	if r.Wait == 0 {
		// Who only tries makes no node while there are others. Its server is told first what it
		// has not been told yet, such as that another one's node has gone.
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
		if !n.gone() && n.mark != "" && !n.client.options.Unguaranteed {
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
		case gone == nil: // it went away meanwhile
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

// giveUp leaves the queue because the context has ended, and says so: the lock may be free.
func (n *node) giveUp(ctx context.Context) error {
	err := n.leave()
	if errors.Is(err, locks.ErrTaken) {
		err = fmt.Errorf("%w: the request was given up: %w", err, ctx.Err())
	}
	return err
}

// nothingAsked is for what failed before a node was asked for.
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
	if errors.Is(err, zk.ErrConnectionClosed) && n.mark != "" && ctx.Err() == nil {
		if found, looked := n.find(); looked == nil && found != "" {
			path, err = found, nil
		}
	}
	if err != nil {
		return err
	}
	n.know(path)
	return nil
}

// all are the nodes that there are now: what the client's server has not been told yet it is
// told first.
func (n *node) all() ([]string, error) {
	if _, err := n.session.conn.Sync(n.dir); err != nil {
		return nil, err
	}
	kids, _, err := n.session.conn.Children(n.dir)
	return kids, err
}

// find looks for a node that the client has made, and of which it has not heard.
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

// before is the node before the client's own, and what tells that it went away; nil if it did
// so while it was looked for. Empty: there is none, and the client is the first.
func (n *node) before() (name string, gone <-chan zk.Event, err error) {
	conn, path := n.session.conn, n.where()
	var kids []string
	if n.client.options.WatchAll {
		kids, _, gone, err = conn.ChildrenW(n.dir)
	} else {
		kids, _, err = conn.Children(n.dir)
	}
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
	case name == "" || n.client.options.WatchAll:
		return name, gone, nil
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

// hold makes sure that the first node is still there. What the client hears from before it
// asks on concerns the hold.
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
	if n.client.options.BySequence {
		n.token = uint64(sequence(path)) + 1 // a token is not 0
	}
	return nil
}

// leave takes the node out of the queue.
func (n *node) leave() error {
	if err := n.remove(); err != nil && !errors.Is(err, locks.ErrNotHeld) {
		return err
	}
	return locks.ErrTaken
}

// remove deletes the node, once, or for as long as it takes.
func (n *node) remove() error {
	err := n.removeOnce()
	if err != nil && !errors.Is(err, locks.ErrNotHeld) && !n.client.options.Unguaranteed {
		n.goOn()
	}
	return err
}

// errUnknown is what is said of a create without an answer.
var errUnknown = errors.New("nobody knows whether there is a node")

func (n *node) removeOnce() error {
	path := n.where()
	if path == "" && n.gone() {
		return locks.ErrNotHeld
	}
	if path == "" && n.mark != "" {
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

// goOn deletes until a server has said that the node is not there. A node that nobody has
// seen is looked for until the session must have ended, and that of its last connection.
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
		case n.lost == nil: // it stood in the queue, and was not granted
			return locks.ErrNotHeld
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("zk-recipe: release: no answer: %w", ctx.Err())
	}
}

// know notes where the node is, forget that it is no more.
func (n *node) know(path string) { n.mu.Lock(); defer n.mu.Unlock(); n.path = path }
func (n *node) forget()          { n.mu.Lock(); defer n.mu.Unlock(); n.path, n.removed = "", true }
func (n *node) where() string    { n.mu.Lock(); defer n.mu.Unlock(); return n.path }
func (n *node) gone() bool       { n.mu.Lock(); defer n.mu.Unlock(); return n.removed }
