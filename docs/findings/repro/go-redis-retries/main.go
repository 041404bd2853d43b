// A proxy loses the answer to one release. The connection stays open, and later requests are answered.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	server := "127.0.0.1:" + os.Args[1]
	direct := redis.NewClient(&redis.Options{Addr: server})

	wrong := 0
	for _, retries := range []int{0, -1} { // 0 is the default: a command is sent up to four times
		proxy, lose := forward(server)
		client := redis.NewClient(&redis.Options{Addr: proxy, MaxRetries: retries, ReadTimeout: time.Second})
		name := "go-redis with its defaults"
		if retries < 0 {
			name = "go-redis with MaxRetries: -1"
		}

		check(obtain(client).Release(ctx)) // the server has the script from now on
		lock := obtain(client)
		lose()
		err := lock.Release(ctx)
		fmt.Printf("%s, redislock: the Release of a held lock returns %v\n", name, err)
		if removed(direct, "redislock") && errors.Is(err, redislock.ErrLockNotHeld) {
			wrong++
		}

		_, err = locked(client).Unlock()
		check(err)
		mutex := locked(client)
		lose()
		_, err = mutex.Unlock()
		fmt.Printf("%s, redsync: the Unlock of a held lock returns %v\n", name, err)
		if removed(direct, "redsync") && errors.Is(err, redsync.ErrLockAlreadyExpired) {
			wrong++
		}
	}
	if wrong > 0 {
		end("exists: %d releases removed the key of a lock that was held, and reported that it was not held", wrong)
	}
	end("gone: no release reported that the lock was not held")
}

var ctx = context.Background()

func obtain(client *redis.Client) *redislock.Lock {
	lock, err := redislock.Obtain(ctx, client, "redislock", time.Minute, nil)
	check(err)
	return lock
}

func locked(client *redis.Client) *redsync.Mutex {
	mutex := redsync.New(goredis.NewPool(client)).NewMutex("redsync", redsync.WithExpiry(time.Minute))
	check(mutex.Lock())
	return mutex
}

// removed returns whether the key is gone, and removes it if not.
func removed(client *redis.Client, key string) bool {
	n, err := client.Del(ctx, key).Result()
	check(err)
	return n == 0
}

// forward returns the address of a proxy of a server, and a function after which it loses one answer.
func forward(server string) (string, func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	var losing atomic.Bool
	pipe := func(to, from net.Conn, answers bool) {
		defer to.Close()
		buffer := make([]byte, 4096)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			if answers && losing.CompareAndSwap(true, false) {
				continue
			}
			to.Write(buffer[:n])
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			go pipe(upstream, client, false)
			go pipe(client, upstream, true)
		}
	}()
	return listener.Addr().String(), func() { losing.Store(true) }
}

func check(err error) {
	if err != nil {
		end("could not try: %v", err)
	}
}

func end(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
	os.Exit(0)
}
