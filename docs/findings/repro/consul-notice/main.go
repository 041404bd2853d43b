// A holder is cut off by a proxy that forwards nothing. No distribution packages Consul any more, so its server is played by
// a handler with the same answers: sessions, blocking queries, and keys that a session acquires and loses when it ends.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"
)

const ttl = time.Second // the server ends a session at twice its TTL, as Consul may

func main() {
	server := &consul{ends: map[string]time.Time{}, index: 1}
	address := httptest.NewServer(server).Listener.Addr().String()
	proxy, cut := forward(address)
	holder, other := lock(proxy), lock(address)

	lost, err := holder.Lock(nil)
	if err != nil || lost == nil {
		end("could not try: a free lock was refused: %v", err)
	}
	began := time.Now()
	for time.Since(began) < 3*ttl { // it is renewed
		if server.held() == "" {
			end("could not try: the session ended without a cut")
		}
		time.Sleep(10 * time.Millisecond)
	}
	cut()
	began = time.Now()
	if _, err := other.Lock(nil); err != nil {
		end("could not try: %v", err)
	}
	fmt.Printf("another client is granted the lock %.1f s after the first was cut off\n", time.Since(began).Seconds())
	select {
	case <-lost:
		end("gone: the channel of the first client was closed %.1f s after the cut", time.Since(began).Seconds())
	case <-time.After(8 * ttl):
		end("exists: %.1f s after the cut the channel of the first client is open, and another client holds the lock", time.Since(began).Seconds())
	}
}

func lock(address string) *api.Lock {
	client, err := api.NewClient(&api.Config{Address: address})
	if err != nil {
		end("could not try: %v", err)
	}
	l, err := client.LockOpts(&api.LockOptions{Key: "job", SessionTTL: ttl.String()})
	if err != nil {
		end("could not try: %v", err)
	}
	return l
}

// consul is a server with one key.
type consul struct {
	mu      sync.Mutex
	ends    map[string]time.Time // of each session
	session string               // holds the key
	index   uint64               // of the last change of the key
	created uint64               // sessions so far
}

// held returns the session that holds the key. It ends the sessions that were not renewed in time.
func (c *consul) held() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().After(c.ends[c.session]) && c.session != "" {
		c.change("")
	}
	return c.session
}

func (c *consul) change(session string) {
	c.session = session
	c.index++
}

func (c *consul) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, name := r.URL.Query(), r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if r.Method == http.MethodGet && query.Has("index") { // a blocking query waits for a change
		known, _ := strconv.ParseUint(query.Get("index"), 10, 64)
		for began := time.Now(); time.Since(began) < 5*time.Minute && r.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
			c.held()
			c.mu.Lock()
			changed := c.index > known
			c.mu.Unlock()
			if changed {
				break
			}
		}
	}
	c.held()
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("X-Consul-Index", strconv.FormatUint(c.index, 10))
	var answer any
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/session/create"):
		c.created++
		id := fmt.Sprintf("session-%d", c.created)
		c.ends[id] = time.Now().Add(2 * ttl)
		answer = map[string]string{"ID": id}
	case strings.HasPrefix(r.URL.Path, "/v1/session/renew/") && time.Now().Before(c.ends[name]):
		c.ends[name] = time.Now().Add(2 * ttl)
		answer = []map[string]any{{"ID": name, "TTL": ttl.String()}}
	case r.Method == http.MethodGet && c.session != "":
		answer = []map[string]any{{"Key": "job", "Session": c.session, "Flags": uint64(api.LockFlagValue), "ModifyIndex": c.index}}
	case query.Has("acquire"):
		id := query.Get("acquire")
		granted := (c.session == "" || c.session == id) && time.Now().Before(c.ends[id])
		if granted {
			c.change(id)
		}
		answer = granted
	default:
		http.NotFound(w, r)
		return
	}
	json.NewEncoder(w).Encode(answer)
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
