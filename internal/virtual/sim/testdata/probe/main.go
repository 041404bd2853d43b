// Command probe is a client that says on its standard error what time it takes it to be:
// at every tick of a timer, and at every request for the lock. It is built for wasip1.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"lockbench/internal/guest"
	"lockbench/locks"
)

func main() {
	hello := guest.Hello{Name: "probe", Family: locks.Control}
	if err := guest.Main(context.Background(), hello, guest.Always(open)); err != nil {
		log.Fatal(err)
	}
}

// began is when the program started, by the monotonic clock.
var began = time.Now()

func open(_ context.Context, c locks.Client) (locks.Locker, error) {
	say := func(what string) {
		fmt.Fprintf(os.Stderr, "%s %d %d\n", what, time.Since(began).Milliseconds(), time.Now().UnixMilli())
	}
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			say("tick")
		}
	}()
	return locker{say, c}, nil
}

type locker struct {
	say    func(what string)
	client locks.Client
}

func (l locker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	switch r.Keys[0] {
	case "panic":
		go panic("asked for")
		<-ctx.Done()
	case "dial":
		dialing, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := l.client.Store.Dial(dialing, "tcp", "10.0.0.1:6379")
		return nil, err
	}
	l.say("asked")
	return lease{}, nil
}

func (locker) Close() error { return nil }

type lease struct{}

func (lease) Release(context.Context) error { return nil }
