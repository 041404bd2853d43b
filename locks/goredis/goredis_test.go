package goredis_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	service "lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/goredis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, store locks.Store) redis.UniversalClient {
	t.Helper()
	c, err := goredis.Connect(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// This test shows why this package turns off all retries of go-redis. With default settings, the library resends a SET NX
// whose reply was lost and then returns false, which means "taken" although the caller holds the lock.
func TestResendingTurnsAGrantIntoTaken(t *testing.T) {
	s := redistest.Start(t)
	wire := &redistest.Wire{}
	wire.LoseReplies("set", 1)
	resending := redis.NewClient(&redis.Options{
		Addr:        s.Addr,
		Dialer:      wire.Dial,
		MaxRetries:  3,
		ReadTimeout: 100 * time.Millisecond,
	})
	defer resending.Close()
	err := resending.Do(t.Context(), "set", "a", "mine", "nx", "px", 60_000).Err()
	if err != redis.Nil {
		t.Errorf("set nx: got %v; the counter-example wants nil, which reads as taken", err)
	}
	if got := s.Value(t, "a"); got != "mine" {
		t.Errorf("the key holds %q; the counter-example wants the caller's own token", got)
	}
	if got := s.Calls(t, "set"); got != 2 {
		t.Errorf("the server executed SET %d times; the counter-example wants it sent twice", got)
	}
}

func TestConnectNeverResends(t *testing.T) {
	s := redistest.Start(t)
	wire := &redistest.Wire{}
	store := s.Store()
	store.Dial = wire.Dial
	c := connect(t, store)

	wire.LoseReplies("set", 1)
	if granted, err := goredis.Claim(t.Context(), c, "a", "mine", time.Minute); err == nil {
		t.Errorf("claim with its reply lost: got %v and no error", granted)
	}
	if got := s.Calls(t, "set"); got != 1 {
		t.Errorf("the server executed SET %d times, want once", got)
	}

	wire.LoseReplies("eval", 1)
	if mine, err := goredis.Extend(t.Context(), c, "a", "mine", time.Minute); err == nil {
		t.Errorf("extend with its reply lost: got %v and no error", mine)
	}
	wire.LoseReplies("evalsha", 1)
	if mine, err := goredis.Extend(t.Context(), c, "a", "mine", time.Minute); err == nil {
		t.Errorf("extend with its reply lost: got %v and no error", mine)
	}
	// By digest (unknown to the server), by text (lost), by digest (lost): a lost
	// reply is never a reason to send the text.
	if got := s.Calls(t, "eval"); got != 1 {
		t.Errorf("the server executed EVAL %d times, want once", got)
	}
	if got := s.Calls(t, "evalsha"); got != 2 {
		t.Errorf("the server got EVALSHA %d times, want twice", got)
	}
}

func TestOwnedKey(t *testing.T) {
	s := redistest.Start(t)
	c := connect(t, s.Store())
	steps := []struct {
		what string
		do   func() (bool, error)
		want bool
	}{
		{"claim a free key", func() (bool, error) { return goredis.Claim(t.Context(), c, "a", "mine", time.Minute) }, true},
		{"claim it again", func() (bool, error) { return goredis.Claim(t.Context(), c, "a", "mine", time.Minute) }, false},
		{"extend another's", func() (bool, error) { return goredis.Extend(t.Context(), c, "a", "theirs", time.Hour) }, false},
		{"disown another's", func() (bool, error) { return goredis.Disown(t.Context(), c, "a", "theirs") }, false},
		{"extend one's own", func() (bool, error) { return goredis.Extend(t.Context(), c, "a", "mine", time.Hour) }, true},
		{"disown one's own", func() (bool, error) { return goredis.Disown(t.Context(), c, "a", "mine") }, true},
		{"disown what is gone", func() (bool, error) { return goredis.Disown(t.Context(), c, "a", "mine") }, false},
		{"extend what is gone", func() (bool, error) { return goredis.Extend(t.Context(), c, "a", "mine", time.Hour) }, false},
	}
	for _, step := range steps {
		got, err := step.do()
		if err != nil || got != step.want {
			t.Errorf("%s: got %v, %v, want %v", step.what, got, err, step.want)
		}
	}
	if n := s.Client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys left, want none", n)
	}
}

// Every connection of a sentinel client, to sentinels and to masters, must go through Store.Dial, so that faults affect it.
func TestSentinelDialsThroughTheStore(t *testing.T) {
	master := redistest.Start(t)
	sentinel := redistest.StartSentinel(t, "mymaster", master)
	var mu sync.Mutex
	var dialled []string
	store := service.SentinelStore("mymaster", sentinel.Node("sentinel-1"))
	store.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		mu.Lock()
		dialled = append(dialled, addr)
		mu.Unlock()
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	c := connect(t, store)
	if granted, err := goredis.Claim(t.Context(), c, "a", "mine", time.Minute); err != nil || !granted {
		t.Fatalf("claim: %v, %v", granted, err)
	}
	if got := master.Value(t, "a"); got != "mine" {
		t.Errorf("the master holds %q, want the token", got)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, s := range []*redistest.Server{master, sentinel} {
		if !slices.Contains(dialled, s.Addr) {
			t.Errorf("%s was reached past the store's dialer, which saw only %v", s.Addr, dialled)
		}
	}
}

func TestConnectSaysWhatIsMissing(t *testing.T) {
	for _, topology := range []locks.Topology{locks.Single, locks.Replicated, locks.Sentinel, locks.Cluster, locks.None} {
		if c, err := goredis.Connect(service.Store(topology)); err == nil {
			t.Errorf("connect to an empty %s store: got %v and no error", topology, c)
		}
	}
}

func ExampleScript() {
	client, err := goredis.Connect(service.Store(locks.Single, locks.Node{Name: "redis", Addr: "localhost:6379"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	double := goredis.NewScript("double.lua", "return 2 * ARGV[1]")
	fmt.Println(double.Run(context.Background(), client, nil, 21))
}
