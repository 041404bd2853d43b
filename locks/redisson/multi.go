package redisson

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// NewMulti returns the opener of MultiLock: the locks of all names of a request, on each independent master of the store,
// taken as one.
//
// They are taken one after the other. While it waits, MultiLock takes each for twice the wait, so that the first does not
// expire before the last is granted. When it has all, it sets the requested lease and ignores failures of that. After a
// refusal it starts over from the first.
func NewMulti(o Options) locks.Opener {
	return openMulti("redisson-port-multi", o, false)
}

// NewRedLock returns the opener of Redisson's RedLock, which Redisson itself advises against: a MultiLock for which a
// majority is enough. Unlike the algorithm of that name it requests one master after the other, and subtracts neither the
// elapsed time nor an allowance for drift (hazard R-31).
func NewRedLock(o Options) locks.Opener {
	return openMulti("redisson-port-redlock", o, true)
}

func openMulti(name string, o Options, majority bool) locks.Opener {
	return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		o := o.filled(c.Store.Topology)
		m := &multi{name: name, o: o, majority: majority}
		if c.Store.Topology != locks.Independent {
			if majority {
				return nil, fmt.Errorf("%s: %w: topology %q; it needs independent masters", name, locks.ErrUnsupported, c.Store.Topology)
			}
			client, err := goredis.Connect(c.Store)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			m.stores = []store{{"", newLocker(name, o, c, client, plainKind)}}
			return m, nil
		}
		if len(c.Store.Nodes()) == 0 {
			return nil, fmt.Errorf("%s: the store names no masters", name)
		}
		for _, n := range c.Store.Nodes() {
			m.stores = append(m.stores, store{n.Name, newLocker(name, o, c, goredis.ConnectNode(c.Store, n), plainKind)})
		}
		return m, nil
	}
}

func plainKind() kind { return rlock{} }

// multi is one client's handle on several locks that count as one.
type multi struct {
	name     string
	o        Options
	majority bool
	stores   []store
	threads  atomic.Int64
}

// store is a master.
type store struct {
	name string // empty if there is only one master
	*locker
}

// child is a lock of a multi-lock.
type child struct {
	store store
	key   string
}

// part is a child that was taken, or may have been taken.
type part struct {
	child
	lease  locks.Lease
	doubts bool
}

var _ locks.Locker = (*multi)(nil)

// redlockWaitMin is the least wait for a child of a RedLock.
const redlockWaitMin = time.Millisecond

// Acquire takes all locks, or a majority of them, one after the other.
func (m *multi) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	children, ttl, err := m.children(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: acquire: %w", m.name, err)
	}
	if r.Owner == "" { // the requests of all children need the same owner
		r.Owner = "#" + strconv.FormatInt(m.threads.Add(1), 10)
	}
	got := &multiLease{multi: m, children: len(children)}
	ok, why := m.take(ctx, r, ttl, children, got)
	if ok {
		if ttl == 0 {
			return m.kept(got), nil
		}
		// The result of this is ignored, and the lease counts from here, however late.
		start := time.Now()
		for _, p := range got.parts {
			_ = goredis.Do(ctx, p.store.client, "pexpire", p.key, ttl.Milliseconds()).Err()
		}
		return &multiBounded{got, plain.NewEnd(start.Add(ttl))}, nil
	}
	if len(got.parts) > 0 { // parts whose release is uncertain
		return got, fmt.Errorf("%s: acquire: %w", m.name, why)
	}
	switch {
	case errors.Is(why, plain.ErrClosed):
		return nil, fmt.Errorf("%s: acquire: %w", m.name, why)
	case why == nil || errors.Is(why, locks.ErrTaken):
		return nil, locks.ErrTaken
	}
	return nil, fmt.Errorf("%s: acquire: %w, and gave up: %w", m.name, locks.ErrTaken, why)
}

// children returns the locks of a request.
func (m *multi) children(r locks.Request) ([]child, time.Duration, error) {
	if len(r.Keys) == 0 || m.majority && len(r.Keys) != 1 {
		return nil, 0, fmt.Errorf("%w: a request for %d names", locks.ErrUnsupported, len(r.Keys))
	}
	if slices.Contains(r.Keys, "") {
		return nil, 0, fmt.Errorf("%w: the name of a lock is empty", locks.ErrUnsupported)
	}
	one := r
	one.Keys = r.Keys[:1]
	h, err := m.stores[0].hold(one)
	if err != nil {
		return nil, 0, err
	}
	ttl := h.lease
	if h.dogged {
		ttl = 0
	}
	var children []child
	for _, key := range r.Keys {
		for _, s := range m.stores {
			children = append(children, child{s, key})
		}
	}
	return children, ttl, nil
}

// take takes the children and adds them to got. If it fails, it returns the reason, and got has the parts that were
// neither refused nor certainly released.
func (m *multi) take(ctx context.Context, r locks.Request, ttl time.Duration, children []child, got *multiLease) (bool, error) {
	limit := 0
	if m.majority {
		limit = len(children) - (len(children)/2 + 1)
	}
	began := time.Now()
	left := func() time.Duration { return r.Wait - time.Since(began) }
	failures, taken := 0, 0
	lease := ttl // of each child
	if ttl > 0 && r.Wait > 0 {
		lease = 2 * r.Wait
	}
	var why error
	for i := 0; i < len(children); i++ {
		c := children[i]
		ask := locks.Request{Keys: []string{c.key}, Owner: r.Owner, TTL: lease}
		if r.Wait > 0 {
			ask.Wait = max(left(), redlockWaitMin)
			if m.majority {
				ask.Wait = min(ask.Wait, max(left()/time.Duration(len(children)), redlockWaitMin))
			}
		}
		lease, err := c.store.Acquire(ctx, ask)
		switch {
		case err == nil:
			got.parts = append(got.parts, part{c, lease, false})
			taken++
		case lease != nil:
			// The child is released at once, and again later if that fails.
			why = fmt.Errorf("%s: %w", c, err)
			if e := lease.Release(context.WithoutCancel(ctx)); e != nil && !errors.Is(e, locks.ErrNotHeld) {
				got.parts = append(got.parts, part{c, lease, true})
			}
		case !errors.Is(err, locks.ErrTaken), errors.Is(err, plain.ErrClosed):
			why = err
		case ctx.Err() != nil:
			why = context.Cause(ctx)
		}
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, plain.ErrClosed) {
				got.giveBack(ctx)
				return false, why
			}
			if len(children)-taken == limit {
				break // a majority is enough
			}
			if failures == limit {
				got.giveBack(ctx)
				if r.Wait <= 0 || left() <= 0 {
					return false, why
				}
				i, failures, taken = -1, 0, 0
				continue
			}
			failures++
		}
		if r.Wait > 0 && left() <= 0 {
			got.giveBack(ctx)
			return false, why
		}
	}
	return true, nil
}

func (c child) String() string {
	if c.store.name == "" {
		return strconv.Quote(c.key)
	}
	return fmt.Sprintf("%q on %s", c.key, c.store.name)
}

// Close closes the connections. Held locks stay held until they expire.
func (m *multi) Close() error {
	var errs []error
	for _, s := range m.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
