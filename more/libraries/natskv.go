//go:build !wasip1

package libraries

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lockbench/locks"
)

// natsSettings are the options of users.
type natsSettings struct {
	replicas            int
	expiry              string
	limit               time.Duration
	ping, reconnectWait time.Duration
}

// natsKey returns the name of a key in a bucket, which cannot contain colons.
func natsKey(key string) string { return strings.ReplaceAll(key, ":", "/") }

// adds nats-kv: the lock itself, by Create and by Delete at its revision, because NATS has none; and option limit for each call

// openNatsKV opens the lock on a key of a JetStream bucket: Create takes it, Delete at the revision of Create releases it.
// It ends with the ttl of the bucket or of the key.
func openNatsKV(o Options) (locks.Opener, error) {
	s := natsSettings{
		replicas: o.number("replicas", 0), expiry: o.oneOf("expiry", "bucket", "key"),
		limit: o.duration("limit", 5*time.Second),
		ping:  o.duration("ping", nats.DefaultPingInterval), reconnectWait: o.duration("reconnect-wait", nats.DefaultReconnectWait),
	}
	if err := o.err(); err != nil {
		return nil, err
	}
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		var urls []string
		for _, a := range addresses(c.Store.Nodes()) {
			urls = append(urls, "nats://"+a)
		}
		replicas := s.replicas
		if replicas == 0 {
			replicas = min(len(urls), 3)
		}
		if replicas > len(urls) {
			return nil, fmt.Errorf("nats-kv: %d replicas on %d servers: %w", replicas, len(urls), locks.ErrUnsupported)
		}
		options := []nats.Option{
			nats.PingInterval(s.ping), nats.ReconnectWait(s.reconnectWait),
			nats.IgnoreDiscoveredServers(), // their addresses bypass the proxies
		}
		params := c.Store.Params
		if user := params["user"]; user != "" {
			options = append(options, nats.UserInfo(user, params["password"]))
		}
		if token := params["token"]; token != "" {
			options = append(options, nats.Token(token))
		}
		if dial := c.Store.Dial; dial != nil {
			options = append(options, nats.SetCustomDialer(dialer(dial)))
		}
		conn, err := nats.Connect(strings.Join(urls, ","), options...)
		if err != nil {
			return nil, err
		}
		js, err := jetstream.New(conn)
		if err != nil {
			conn.Close()
			return nil, err
		}
		return &natsLocker{client: c, conn: conn, js: js, settings: s, bucketName: params["bucket"], replicas: replicas}, nil
	}, nil
}

type natsLocker struct {
	client     locks.Client
	conn       *nats.Conn
	js         jetstream.JetStream
	settings   natsSettings
	bucketName string
	replicas   int

	mu  sync.Mutex
	kv  jetstream.KeyValue // nil: not opened yet, or deleted
	ttl time.Duration      // of all keys; 0: each key has its own
}

func (l *natsLocker) Close() error {
	l.conn.Close()
	return nil
}

func (l *natsLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" || r.Wait > 0 || r.TTL <= 0 {
		return nil, fmt.Errorf("nats-kv: requests must have one key, exclusive mode, a ttl, no wait and no owner: %w", locks.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, l.settings.limit)
	defer cancel()
	kv, err := l.bucket(ctx, r.TTL)
	if err != nil {
		return nil, fmt.Errorf("open the bucket: %w", err) // no lock request was sent
	}
	held := &natsLease{locker: l, kv: kv, key: natsKey(r.Keys[0]), owner: fmt.Sprintf("%d-%016x", l.client.ID, l.client.Rand.Uint64())}
	var options []jetstream.KVCreateOpt
	if l.settings.expiry == "key" {
		options = append(options, jetstream.KeyTTL(wholeSeconds(r.TTL)))
	}
	held.until = time.Now().Add(r.TTL)
	ctx, end := context.WithDeadline(ctx, held.until) // a later answer grants nothing
	defer end()
	revision, err := kv.Create(ctx, held.key, []byte(held.owner), options...)
	switch {
	case errors.Is(err, jetstream.ErrKeyExists) || wrongRevision(err):
		return nil, fmt.Errorf("%w: %w", locks.ErrTaken, err)
	case errors.Is(err, jetstream.ErrInvalidKey):
		return nil, err
	case err != nil:
		l.lookAgain(err)
		return held, err
	}
	held.revision, held.token = revision, revision
	return held, nil
}

// wholeSeconds rounds up to the resolution of expiries.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// bucket creates or opens the bucket. All its keys have one ttl.
func (l *natsLocker) bucket(ctx context.Context, ttl time.Duration) (jetstream.KeyValue, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kv == nil {
		config := jetstream.KeyValueConfig{Bucket: l.bucketName, Replicas: l.replicas}
		if l.settings.expiry == "key" {
			// LimitMarkerTTL is the life of the marker of an expired key, for watchers.
			config.LimitMarkerTTL = time.Second
		} else {
			config.TTL = ttl
		}
		kv, err := l.js.CreateKeyValue(ctx, config)
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = l.js.KeyValue(ctx, l.bucketName)
		}
		if err != nil {
			return nil, err
		}
		status, err := kv.Status(ctx)
		if err != nil {
			return nil, err
		}
		l.kv, l.ttl = kv, status.TTL()
	}
	if l.ttl != 0 && l.ttl != ttl {
		return nil, fmt.Errorf("a bucket has one ttl for all its keys, %v (with expiry=key each key has its own): %w", l.ttl, locks.ErrUnsupported)
	}
	return l.kv, nil
}

// lookAgain makes the next operation create the bucket again if it was lost with its server, as a new client would.
func (l *natsLocker) lookAgain(err error) {
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		l.mu.Lock()
		l.kv = nil
		l.mu.Unlock()
	}
}

// wrongRevision reports whether the servers refused a write because of the key's revision.
func wrongRevision(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// natsLease is a key at a revision.
type natsLease struct {
	locker     *natsLocker
	kv         jetstream.KeyValue
	key, owner string
	token      uint64 // the revision of the grant

	mu       sync.Mutex
	revision uint64 // of the last write; 0: its outcome is unknown
	until    time.Time
}

var (
	_ locks.Bounded = (*natsLease)(nil)
	_ locks.Fenced  = (*natsLease)(nil)
	_ locks.Renewer = (*natsLease)(nil)
)

// Until returns when the key may expire. The holder gets no notice.
func (l *natsLease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Token returns the number of the write in its bucket.
func (l *natsLease) Token() uint64 { return l.token }

// Renew writes the key again. The library's Update does not set the ttl of a key, so Renew publishes the message itself.
func (l *natsLease) Renew(ctx context.Context, ttl time.Duration) error {
	if l.locker.settings.expiry == "bucket" && ttl != l.locker.ttl || ttl <= 0 {
		return fmt.Errorf("nats-kv: a key of this bucket has a ttl of %v: %w", l.locker.ttl, locks.ErrUnsupported)
	}
	return l.write(ctx, func(ctx context.Context, at uint64) error {
		until := time.Now().Add(ttl)
		var revision uint64
		var err error
		if l.locker.settings.expiry == "bucket" {
			revision, err = l.kv.Update(ctx, l.key, []byte(l.owner), at)
		} else {
			m := nats.NewMsg("$KV." + l.locker.bucketName + "." + l.key)
			m.Data = []byte(l.owner)
			var ack *jetstream.PubAck
			ack, err = l.locker.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(at), jetstream.WithMsgTTL(wholeSeconds(ttl)))
			if err == nil {
				revision = ack.Sequence
			}
		}
		if err == nil {
			l.revision, l.until = revision, until
		}
		return err
	})
}

// Release deletes the key unless another client has written it.
func (l *natsLease) Release(ctx context.Context) error {
	return l.write(ctx, func(ctx context.Context, at uint64) error {
		return l.kv.Delete(ctx, l.key, jetstream.LastRevision(at))
	})
}

// write calls do if the key still belongs to the lease.
func (l *natsLease) write(ctx context.Context, do func(ctx context.Context, at uint64) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.locker.settings.limit)
	defer cancel()
	at := l.revision
	if at == 0 {
		found, err := l.find(ctx)
		if err != nil {
			return err
		}
		at = found
	}
	known := l.revision != 0
	l.revision = 0
	err := do(ctx, at)
	switch {
	case wrongRevision(err) && known:
		l.revision = at // refused, also in the future
		return fmt.Errorf("%w: %w", locks.ErrNotHeld, err)
	case err == nil && l.revision == 0:
		l.revision = at // deleted, so later writes are refused
	}
	return err
}

// find returns the revision of the key if it belongs to this lease. Any server of the bucket answers, possibly with stale
// data, so a different revision is not certain.
func (l *natsLease) find(ctx context.Context) (uint64, error) {
	entry, err := l.kv.Get(ctx, l.key)
	if err != nil {
		return 0, err
	}
	if string(entry.Value()) != l.owner {
		return 0, errors.New("a server has the key of another lease; it is unknown whether this lease had the key")
	}
	return entry.Revision(), nil
}
