package goredis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	service "lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/locks/goredis"
)

// This test shows why Do and Script exist. Even with all its retries off, the cluster client resends a SET NX whose reply was
// lost, and returns "taken" to the holder.
func TestClusterClientResendsWhatDoesNotSayNo(t *testing.T) {
	c := redistest.StartCluster(t, 1)
	wire := &redistest.Wire{}
	store := c.Store()
	store.Dial = wire.Dial
	client := connect(t, store)
	wire.LoseReplies("set", 1)
	err := client.Do(t.Context(), "set", "a", "mine", "nx", "px", 60_000).Err()
	if !errors.Is(err, redis.Nil) {
		t.Errorf("got %v; the counter-example wants nil, which reads as taken", err)
	}
	if n := c.Nodes[0].Calls(t, "set"); n != 2 {
		t.Errorf("the server executed SET %d times; the counter-example wants it sent twice", n)
	}
}

func TestClusterNeverResends(t *testing.T) {
	c := redistest.StartCluster(t, 1)
	s := c.Nodes[0]
	wire := &redistest.Wire{}
	store := c.Store()
	store.Dial = wire.Dial
	client := connect(t, store)
	if granted, err := goredis.Claim(t.Context(), client, "warm", "mine", time.Minute); err != nil || !granted {
		t.Fatalf("claim: %v, %v", granted, err)
	}
	if mine, err := goredis.Extend(t.Context(), client, "warm", "mine", time.Minute); err != nil || !mine {
		t.Fatalf("extend: %v, %v", mine, err)
	}
	for _, test := range []struct {
		command string
		do      func() error
	}{
		{"set", func() error {
			_, err := goredis.Claim(t.Context(), client, "a", "mine", time.Minute)
			return err
		}},
		{"evalsha", func() error {
			_, err := goredis.Extend(t.Context(), client, "warm", "mine", time.Minute)
			return err
		}},
	} {
		before := s.Calls(t, test.command)
		wire.LoseReplies(test.command, 1)
		if err := test.do(); err == nil || errors.Is(err, redis.Nil) {
			t.Errorf("%s with its reply lost: got %v, want an error", test.command, err)
		}
		if n := s.Calls(t, test.command) - before; n != 1 {
			t.Errorf("the server executed %s %d times, want once", test.command, n)
		}
	}
}

// MOVED is followed, because a server that answers MOVED did nothing.
func TestClusterFollowsMoved(t *testing.T) {
	c := redistest.StartCluster(t, 3)
	client := connect(t, c.Store())
	for _, key := range []string{"a", "b", "c", "d", "{a}:b"} {
		if granted, err := goredis.Claim(t.Context(), client, key, "mine", time.Minute); err != nil || !granted {
			t.Errorf("claim %q: got %v, %v", key, granted, err)
		}
		if mine, err := goredis.Disown(t.Context(), client, key, "mine"); err != nil || !mine {
			t.Errorf("disown %q: got %v, %v", key, mine, err)
		}
	}
}

func TestSlot(t *testing.T) {
	s := redistest.StartCluster(t, 1).Nodes[0]
	for _, key := range []string{"", "a", "123456789", "{a}b", "x{a}", "a{b", "a{}b", "a}b", "{}", "}{a}"} {
		want := s.Client.ClusterKeySlot(t.Context(), key).Val()
		if got := service.Slot(key); int64(got) != want {
			t.Errorf("Slot(%q) = %d, the server says %d", key, got, want)
		}
	}
}
