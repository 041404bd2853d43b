// A holder is cut off from the server, which runs in this process, by a proxy that forwards nothing. Its session has a TTL of 2 s,
// and its client a DialTimeout of 5 s.
package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

func main() {
	server := start()
	proxy, cut := forward(server)
	client, other := connect(proxy), session(connect(server), 60)
	session(client, 60) // the client has a session already, so it sends renewals each 500 ms
	holder := session(client, 2)

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := concurrency.NewMutex(holder, "job").Lock(ctx); err != nil {
		end("could not try: a free lock was refused: %v", err)
	}
	began := time.Now()
	cut()

	granted := make(chan time.Duration, 1)
	go func() {
		if err := concurrency.NewMutex(other, "job").Lock(ctx); err != nil {
			end("could not try: the other client failed: %v", err)
		}
		granted <- time.Since(began)
	}()
	var done time.Duration
	select {
	case <-holder.Done():
		done = time.Since(began)
		end("gone: Done is closed %d ms after the grant, before another client is granted the lock", done.Milliseconds())
	case got := <-granted:
		fmt.Printf("another client is granted the lock %d ms after the first grant\n", got.Milliseconds())
		select {
		case <-holder.Done():
		case <-time.After(10 * time.Second):
		}
		done = time.Since(began)
		fmt.Printf("Done of the holder is closed %d ms after the first grant\n", done.Milliseconds())
		if both := done - got; both > 500*time.Millisecond {
			end("exists: for %d ms, two clients held the lock, and Done of the first was not closed", both.Milliseconds())
		}
		end("gone: Done is closed when the lease ends")
	}
}

// start starts an etcd server in a temporary folder, and returns its address.
func start() string {
	folder, err := os.MkdirTemp("", "etcd")
	if err != nil {
		end("could not try: %v", err)
	}
	remove = folder
	config := embed.NewConfig()
	config.Dir, config.LogLevel = folder, "panic"
	free := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.ListenClientUrls, config.ListenPeerUrls = []url.URL{free}, []url.URL{free}
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		end("could not try: %v", err)
	}
	<-etcd.Server.ReadyNotify()
	return etcd.Clients[0].Addr().String()
}

func connect(server string) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		end("could not try: %v", err)
	}
	return client
}

func session(client *clientv3.Client, ttl int) *concurrency.Session {
	s, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		end("could not try: %v", err)
	}
	return s
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

var remove string // the folder of the server

func end(format string, values ...any) {
	os.RemoveAll(remove)
	fmt.Printf(format+"\n", values...)
	os.Exit(0)
}
