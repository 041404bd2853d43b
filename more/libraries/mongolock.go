//go:build !wasip1

package libraries

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lockbench/locks"
)

// adds mongo-find-and-modify: the lock itself, whose documents end by the clocks of clients, because MongoDB has none; and option limit for each call

// openMongo opens the lock on a document: findAndModify takes the document if it is free or expired, or creates it, and
// the index of _id refuses a concurrent creation. The document contains the holder, the number of grants and, unless
// expiry=off (the naive form), its end by the clock of its client.
func openMongo(o Options) (locks.Opener, error) {
	expires := o.oneOf("expiry", "on", "off") == "on"
	limit := o.duration("limit", 5*time.Second)
	if err := o.err(); err != nil {
		return nil, err
	}
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		settings := options.Client().ApplyURI("mongodb://" + strings.Join(addresses(c.Store.Nodes()), ",") + "/")
		params := c.Store.Params
		if user := params["user"]; user != "" {
			settings.SetAuth(options.Credential{Username: user, Password: params["password"]})
		}
		if dial := c.Store.Dial; dial != nil {
			settings.SetDialer(dialer(dial))
		}
		client, err := mongo.Connect(settings)
		if err != nil {
			return nil, err
		}
		documents := client.Database(params["database"]).Collection("locks")
		return &mongoLocker{of: c, client: client, documents: documents, expires: expires, limit: limit}, nil
	}, nil
}

type mongoLocker struct {
	of        locks.Client
	client    *mongo.Client
	documents *mongo.Collection
	expires   bool
	limit     time.Duration
}

// Close does not wait for running operations.
func (l *mongoLocker) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.client.Disconnect(ctx)
	return nil
}

// The fields of a document. A free one has no owner.
const (
	mongoOwner = "owner"
	mongoUntil = "until" // milliseconds since 1970
	mongoToken = "token"
)

func (l *mongoLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" || r.Wait > 0 || r.TTL <= 0 {
		return nil, fmt.Errorf("mongo-find-and-modify: requests must have one key, exclusive mode, a ttl, no wait and no owner: %w", locks.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	held := &mongoLease{locker: l, key: r.Keys[0], owner: fmt.Sprintf("%d-%016x", l.of.ID, l.of.Rand.Uint64())}
	now := time.Now()
	held.until = now.Add(r.TTL)
	if l.expires {
		var end context.CancelFunc
		ctx, end = context.WithDeadline(ctx, held.until) // a later answer grants nothing
		defer end()
	}
	free := bson.D{{Key: mongoOwner, Value: ""}}
	set := bson.D{{Key: mongoOwner, Value: held.owner}}
	if l.expires {
		free = bson.D{{Key: "$or", Value: bson.A{free, bson.D{{Key: mongoUntil, Value: bson.D{{Key: "$lt", Value: now.UnixMilli()}}}}}}}
		set = append(set, bson.E{Key: mongoUntil, Value: held.until.UnixMilli()})
	}
	var got struct {
		Token int64 `bson:"token"`
	}
	err := l.documents.FindOneAndUpdate(ctx, append(bson.D{{Key: "_id", Value: held.key}}, free...),
		bson.D{{Key: "$set", Value: set}, {Key: "$inc", Value: bson.D{{Key: mongoToken, Value: int64(1)}}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&got)
	switch {
	case mongo.IsDuplicateKeyError(err):
		return nil, fmt.Errorf("%w: %w", locks.ErrTaken, err)
	case err != nil:
		return held, err
	}
	held.token = uint64(got.Token)
	return held, nil
}

// mongoLease is a grant of a document.
type mongoLease struct {
	locker     *mongoLocker
	key, owner string
	token      uint64

	mu    sync.Mutex
	until time.Time
}

var (
	_ locks.Bounded = (*mongoLease)(nil)
	_ locks.Fenced  = (*mongoLease)(nil)
	_ locks.Renewer = (*mongoLease)(nil)
)

// Until returns the end of the lease, if it has one. The holder gets no notice.
func (l *mongoLease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Token returns the number of grants of the document.
func (l *mongoLease) Token() uint64 { return l.token }

// Renew extends the lease unless another client holds the document.
func (l *mongoLease) Renew(ctx context.Context, ttl time.Duration) error {
	if !l.locker.expires || ttl <= 0 {
		return fmt.Errorf("mongo-find-and-modify: this document has no expiry: %w", locks.ErrUnsupported)
	}
	until := time.Now().Add(ttl)
	err := l.write(ctx, bson.E{Key: mongoUntil, Value: until.UnixMilli()})
	if err == nil {
		l.mu.Lock()
		l.until = until
		l.mu.Unlock()
	}
	return err
}

// Release frees the document unless another client holds it. The document stays because of its number.
func (l *mongoLease) Release(ctx context.Context) error {
	return l.write(ctx, bson.E{Key: mongoOwner, Value: ""})
}

// write sets a field if the document still belongs to the lease.
func (l *mongoLease) write(ctx context.Context, set bson.E) error {
	ctx, cancel := context.WithTimeout(ctx, l.locker.limit)
	defer cancel()
	done, err := l.locker.documents.UpdateOne(ctx,
		bson.D{{Key: "_id", Value: l.key}, {Key: mongoOwner, Value: l.owner}}, bson.D{{Key: "$set", Value: bson.D{set}}})
	switch {
	case err != nil:
		return err
	case done.MatchedCount == 0:
		return fmt.Errorf("%w: the document has another owner", locks.ErrNotHeld)
	}
	return nil
}
