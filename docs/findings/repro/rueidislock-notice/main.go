// A holder is cut off from the server by a proxy that forwards nothing. Its lock is valid for 2 s and extended each second.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	server := "127.0.0.1:" + os.Args[1]
	proxy, cut := forward(server)
	holder, other := locker(proxy), locker(server)

	held, _, err := holder.TryWithContext(context.Background(), "job")
	if err != nil {
		end("could not try: a free lock was refused: %v", err)
	}
	began := time.Now()
	if _, _, err := other.TryWithContext(context.Background(), "job"); err == nil {
		end("could not try: the lock was granted twice before the cut")
	}
	fmt.Println("the holder has the lock, and another client is refused")
	time.Sleep(300 * time.Millisecond)
	cut()

	for time.Since(began) < 10*time.Second {
		if held.Err() != nil {
			end("gone: the context was canceled %d ms after the grant, before the lock was free", time.Since(began).Milliseconds())
		}
		if _, _, err := other.TryWithContext(context.Background(), "job"); err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		granted := time.Now()
		fmt.Printf("another client is granted the lock %d ms after the first grant\n", granted.Sub(began).Milliseconds())
		select {
		case <-held.Done():
			fmt.Printf("the context of the holder is canceled %d ms after the first grant\n", time.Since(began).Milliseconds())
		case <-time.After(5 * time.Second):
		}
		if both := time.Since(granted).Milliseconds(); both > 200 {
			end("exists: for %d ms, two clients held the lock, and the context of the first was not canceled", both)
		}
		end("gone: the context was canceled when the lock expired")
	}
	end("could not try: the lock did not expire")
}

func locker(address string) rueidislock.Locker {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{address}},
		KeyMajority:  1,
		KeyValidity:  2 * time.Second,
		TryNextAfter: time.Second,
	})
	if err != nil {
		end("could not try: %v", err)
	}
	return l
}

// forward returns the address of a proxy of a server, and a function after which it forwards nothing.
func forward(server string) (string, func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		end("could not try: %v", err)
	}
	var forwarding sync.RWMutex
	pipe := func(to, from net.Conn) {
		buffer := make([]byte, 4096)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			forwarding.RLock()
			to.Write(buffer[:n])
			forwarding.RUnlock()
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
				return
			}
			go pipe(upstream, client)
			go pipe(client, upstream)
		}
	}()
	return listener.Addr().String(), forwarding.Lock
}

func end(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
	os.Exit(0)
}
