// A proxy breaks the connection of a client when its lock lists the nodes. The client connects again, with its session.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

const getChildren = 12 // the type of the request that Lock sends after it has created its node

func main() {
	server := "127.0.0.1:" + os.Args[1]
	var breaking atomic.Bool
	first, other := connect(proxy(server, &breaking)), connect(server)
	everyone := zk.WorldACL(zk.PermAll)

	lock := zk.NewLock(first, "/job", everyone)
	if err := lock.Lock(); err != nil {
		end("could not try: a free lock was refused: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		end("could not try: the lock was not released: %v", err)
	}
	breaking.Store(true)
	err := lock.Lock()
	if err == nil {
		end("gone: Lock succeeded, although its connection broke")
	}
	fmt.Printf("Lock fails: %v; Unlock fails: %v\n", err, lock.Unlock())
	for first.State() != zk.StateHasSession {
		time.Sleep(10 * time.Millisecond)
	}

	granted := make(chan error, 1)
	go func() { granted <- zk.NewLock(other, "/job", everyone).Lock() }()
	select {
	case err := <-granted:
		if err != nil {
			end("could not try: the other client failed: %v", err)
		}
		end("gone: the other client was granted the lock")
	case <-time.After(5 * time.Second): // longer than the session, which goes on
	}
	nodes, _, err := first.Children("/job")
	if err != nil {
		end("could not try: %v", err)
	}
	end("exists: no client holds the lock, %d nodes are there, and another client has waited for 5 s", len(nodes))
}

func connect(server string) *zk.Conn {
	conn, _, err := zk.Connect([]string{server}, 2*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		end("could not try: %v", err)
	}
	return conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// proxy returns the address of a proxy of the server that closes a connection once when it sends getChildren.
func proxy(server string, breaking *atomic.Bool) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		end("could not try: %v", err)
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
			go func() {
				io.Copy(client, upstream)
				client.Close()
			}()
			go func() {
				defer client.Close()
				defer upstream.Close()
				forward(upstream, client, breaking)
			}()
		}
	}()
	return listener.Addr().String()
}

// forward forwards requests: a length, a number, the type, and the rest. The first request of a connection has no type.
func forward(server, client net.Conn, breaking *atomic.Bool) {
	for first := true; ; first = false {
		var size [4]byte
		if _, err := io.ReadFull(client, size[:]); err != nil {
			return
		}
		request := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(client, request); err != nil {
			return
		}
		if !first && binary.BigEndian.Uint32(request[4:8]) == getChildren && breaking.CompareAndSwap(true, false) {
			return
		}
		server.Write(append(size[:], request...))
	}
}

func end(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
	os.Exit(0)
}
