// Package redistest helps tests that use Redis: it starts real servers, one or as a site of a topology, connects clients
// by wires that lose replies, and has a lock that is just enough to see whether a client reaches its servers.
package redistest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/needs"
	service "lockbench/internal/service/redis"
	"lockbench/locks"
	"lockbench/locks/goredis"
)

// limit bounds each wait for something that must happen.
const limit = 30 * time.Second

// Server is a running redis-server, which ends with its test.
type Server struct {
	// Addr is its address on the loopback interface.
	Addr string
	// Client asks it directly, past any dialer under test.
	Client *redis.Client

	process *exec.Cmd
}

// Start starts a server without persistence. The test is skipped if the machine has
// no redis-server, or fails if LOCKBENCH_REQUIRE asks for the world "local".
func Start(t testing.TB) *Server {
	t.Helper()
	return launch(t, "Ready to accept connections", func(host, port, dir string) ([]string, error) {
		return []string{"--bind", host, "--port", port, "--dir", dir,
			"--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", ""}, nil
	})
}

// StartSentinel starts a sentinel that watches a master.
func StartSentinel(t testing.TB, name string, master *Server) *Server {
	t.Helper()
	masterHost, masterPort, _ := net.SplitHostPort(master.Addr)
	return launch(t, "Sentinel ID is", func(host, port, dir string) ([]string, error) {
		conf := filepath.Join(dir, "sentinel.conf") // the sentinel rewrites it
		text := fmt.Sprintf("bind %s\nport %s\ndir %s\nsentinel monitor %s %s %s 1\n",
			host, port, dir, name, masterHost, masterPort)
		return []string{conf, "--sentinel"}, os.WriteFile(conf, []byte(text), 0o600)
	})
}

// launch starts redis-server and waits until it is ready. It tries several ports, because another program may take a free
// port at any time.
func launch(t testing.TB, ready string, arguments func(host, port, dir string) ([]string, error)) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	needs.OrSkip(t, "local", err)
	var s *Server
	for range 5 {
		if s, err = try(path, t.TempDir(), ready, arguments); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("start redis-server: %v", err)
	}
	s.Client = goredis.ConnectNode(locks.Store{}, locks.Node{Addr: s.Addr})
	t.Cleanup(func() {
		s.Client.Close()
		s.Kill()
	})
	return s
}

// try starts a server on a port that is free.
func try(path, dir, ready string, arguments func(host, port, dir string) ([]string, error)) (*Server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := free.Addr().String()
	free.Close()
	host, port, _ := net.SplitHostPort(addr)
	args, err := arguments(host, port, dir)
	if err != nil {
		return nil, err
	}
	process := exec.Command(path, args...)
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	var said []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), ready) {
			go io.Copy(io.Discard, out) // ends when the process does
			return &Server{Addr: addr, process: process}, nil
		}
	}
	process.Wait()
	return nil, fmt.Errorf("it ended at once:\n%s", strings.Join(said, "\n"))
}

// Kill ends the server at once. Its address refuses connections from then on.
func (s *Server) Kill() {
	s.process.Process.Kill()
	s.process.Wait()
}

// Store returns a store of the topology single with the server.
func (s *Server) Store() locks.Store {
	return service.Store(locks.Single, s.Node("redis-1"))
}

// Node returns the server under a name.
func (s *Server) Node(name string) locks.Node { return locks.Node{Name: name, Addr: s.Addr} }

// Calls returns how often the server has executed a command, without rejected calls.
func (s *Server) Calls(t testing.TB, command string) int {
	t.Helper()
	info, err := s.Client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatalf("ask for the number of calls: %v", err)
	}
	for line := range strings.Lines(info) {
		var calls int
		if rest, ok := strings.CutPrefix(line, "cmdstat_"+command+":calls="); ok {
			fmt.Sscanf(rest, "%d", &calls)
			return calls
		}
	}
	return 0
}

// Value returns the value of a key, or "" if the key does not exist.
func (s *Server) Value(t testing.TB, key string) string {
	t.Helper()
	v, err := s.Client.Get(t.Context(), key).Result()
	if err != nil && err != redis.Nil {
		t.Fatalf("get %q: %v", key, err)
	}
	return v
}

// AwaitGone returns when a key has expired.
func (s *Server) AwaitGone(t testing.TB, key string) {
	t.Helper()
	Await(t, fmt.Sprintf("%q expires", key), func() bool {
		return s.Client.Exists(context.WithoutCancel(t.Context()), key).Val() == 0
	})
}

// Await polls a condition until it holds, and fails the test after a limit.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.After(limit)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-end:
			t.Fatalf("waited %v in vain: %s", limit, what)
		case <-tick.C:
		}
	}
}

// Follow makes the server a replica and waits until it has caught up.
func (s *Server) Follow(t testing.TB, master *Server) {
	t.Helper()
	host, port, _ := net.SplitHostPort(master.Addr)
	if err := s.Client.Do(t.Context(), "replicaof", host, port).Err(); err != nil {
		t.Fatalf("follow %s: %v", master.Addr, err)
	}
	Await(t, "the replica is connected", func() bool {
		info := master.Client.Info(t.Context(), "replication").Val()
		return strings.Contains(info, "state=online")
	})
}
