//go:build unix

package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service/redis"
	"lockbench/locks"
)

const testLimit = 30 * time.Second

// pythonGuest starts the example guest as a client of the server at addr.
func pythonGuest(ctx context.Context, t *testing.T, addr string) (*Conn, *os.Process) {
	t.Helper()
	conn, p := startPythonGuest(ctx, t)
	if err := openAt(ctx, conn, addr); err != nil {
		t.Fatal(err)
	}
	return conn, p
}

func openAt(ctx context.Context, conn *Conn, addr string) error {
	store := Addresses(redis.Store(locks.Single, locks.Node{Name: "redis-1", Addr: addr}))
	return conn.Open(ctx, Request{Store: &store})
}

// startPythonGuest starts the example guest, which has no server yet.
func startPythonGuest(ctx context.Context, t *testing.T) (*Conn, *os.Process) {
	t.Helper()
	python := "/usr/bin/python3" // the distribution's own has the distribution's packages
	if _, err := os.Stat(python); err != nil {
		python = "python3"
	}
	if out, err := exec.CommandContext(ctx, python, "-c", "import redis").CombinedOutput(); err != nil {
		needs.OrSkip(t, "local", fmt.Errorf("no python3-redis: %w: %s", err, out))
	}
	cmd := exec.CommandContext(ctx, python, "-u", "../../examples/python-guest/guest.py")
	conn := startGuest(t, cmd)
	if h, err := conn.Hello(ctx); err != nil || h.Name != "redis-py" || h.Family != "single-store" || !h.Claims.Bounded {
		t.Fatalf("Hello() = %+v, %v", h, err)
	}
	return conn, cmd.Process
}

// redisServer starts a server and waits until it answers.
func redisServer(ctx context.Context, t *testing.T) (addr string, p *os.Process) {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	needs.OrSkip(t, "local", err)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return redisServerOn(ctx, t, server, l)
}

// redisServerOn starts a server on the address of a listener, which it closes.
func redisServerOn(ctx context.Context, t *testing.T, server string, l net.Listener) (addr string, p *os.Process) {
	t.Helper()
	addr = l.Addr().String()
	_ = l.Close()
	host, port, _ := net.SplitHostPort(addr)
	cmd := exec.CommandContext(ctx, server, "--bind", host, "--port", port, "--dir", t.TempDir(), "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for redisSays(ctx, addr, "PING") != "+PONG" {
		if ctx.Err() != nil {
			t.Fatal("the server did not answer")
		}
	}
	return addr, cmd.Process
}

// redisSays returns the server's answer to a command, or "".
func redisSays(ctx context.Context, addr, command string) string {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return ""
	}
	defer c.Close()
	if _, err := io.WriteString(c, command+"\r\nQUIT\r\n"); err != nil {
		return ""
	}
	all, _ := io.ReadAll(c)
	return strings.TrimSpace(strings.TrimSuffix(string(all), "+OK\r\n"))
}

// TestPythonGuestConnectsAgain: the guest answers open when it has a connection, also if the first one broke.
func TestPythonGuestConnectsAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	server, err := exec.LookPath("redis-server")
	needs.OrSkip(t, "local", err)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, _ := startPythonGuest(ctx, t)
	opened := make(chan error, 1)
	go func() { opened <- openAt(ctx, conn, l.Addr().String()) }()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	redisServerOn(ctx, t, server, l)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Acquire(ctx, "1.1", locks.Request{Keys: []string{"a"}, TTL: 10 * time.Second}); err != nil {
		t.Error(err)
	}
}

func TestPythonGuest(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	addr, _ := redisServer(ctx, t)
	one, _ := pythonGuest(ctx, t, addr)
	two, _ := pythonGuest(ctx, t, addr)
	ask := locks.Request{Keys: []string{"a"}, TTL: 10 * time.Second}

	g, err := one.Acquire(ctx, "1.1", ask)
	if err != nil {
		t.Fatal(err)
	}
	if g.Until != nil {
		t.Errorf("until %v, which redis-py does not report", *g.Until)
	}
	if _, err := two.Acquire(ctx, "2.1", ask); !errors.Is(err, locks.ErrTaken) {
		t.Errorf("the second client: %v, want taken", err)
	}
	if err := errors.Join(one.Check(ctx, "1.1"), one.Touch(ctx, "1.1")); err != nil {
		t.Error(err)
	}
	if until, err := one.Renew(ctx, "1.1", 20*time.Second); err != nil || until != nil {
		t.Errorf("Renew() = %v, %v", until, err)
	}
	if err := one.Release(ctx, "1.1"); err != nil {
		t.Error(err)
	}
	if err := one.Release(ctx, "1.1"); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("the second release: %v, want not held", err)
	}
	if _, err := two.Acquire(ctx, "2.2", ask); err != nil {
		t.Errorf("after the release: %v", err)
	}

	for name, r := range map[string]locks.Request{
		"no TTL":   {Keys: []string{"b"}},
		"two keys": {Keys: []string{"b", "c"}, TTL: time.Second},
		"shared":   {Keys: []string{"b"}, TTL: time.Second, Mode: locks.Shared},
		"waiting":  {Keys: []string{"b"}, TTL: time.Second, Wait: time.Second},
		"too fine": {Keys: []string{"b"}, TTL: time.Microsecond},
	} {
		if _, err := one.Acquire(ctx, "1.2", r); !errors.Is(err, locks.ErrUnsupported) {
			t.Errorf("%s: %v, want unsupported", name, err)
		}
	}
	for _, c := range []*Conn{one, two} {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// A client sleeps past its lease and another client gets the lock. The first client notices that when it wakes up.
func TestPythonGuestSleepsPastItsLease(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	addr, _ := redisServer(ctx, t)
	one, process := pythonGuest(ctx, t, addr)
	two, _ := pythonGuest(ctx, t, addr)
	if _, err := one.Acquire(ctx, "1.1", locks.Request{Keys: []string{"a"}, TTL: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for i := 1; ; i++ {
		_, err := two.Acquire(ctx, fmt.Sprintf("2.%d", i), locks.Request{Keys: []string{"a"}, TTL: 20 * time.Second})
		if err == nil {
			break
		}
		if !errors.Is(err, locks.ErrTaken) {
			t.Fatal(err)
		}
	}
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// The client counts its lease from the answer, so it ends a little later than at the server.
	for err := one.Check(ctx, "1.1"); !errors.Is(err, ErrLost); err = one.Check(ctx, "1.1") {
		if err != nil {
			t.Fatalf("check: %v, want lost", err)
		}
	}
	if err := one.Touch(ctx, "1.1"); err != nil {
		t.Errorf("touch: %v, want ok", err)
	}
	if _, err := one.Renew(ctx, "1.1", time.Second); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("renew: %v, want not held", err)
	}
	if err := one.Release(ctx, "1.1"); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release: %v, want not held", err)
	}
	if got := redisSays(ctx, addr, "EXISTS a"); got != ":1" {
		t.Errorf("the second client's lock is gone: EXISTS says %s", got)
	}
}

// If the server does not answer, the outcome is unknown, the request was sent once, and the release cleans up.
func TestPythonGuestUnknownAcquire(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	addr, server := redisServer(ctx, t)
	one, _ := pythonGuest(ctx, t, addr)
	ask := locks.Request{Keys: []string{"a"}, TTL: testLimit}
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err := one.Acquire(ctx, "1.1", ask)
	if err == nil || Definite(err) || !strings.Contains(err.Error(), "TimeoutError") {
		t.Errorf("acquire: %v, want unknown", err)
	}
	if err := one.Release(ctx, "1.1"); err == nil || Definite(err) {
		t.Errorf("release while the server is paused: %v, want unknown", err)
	}
	if err := server.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// The server now executes the requests that waited in its socket.
	for redisSays(ctx, addr, "EXISTS a") != ":1" {
		if ctx.Err() != nil {
			t.Fatal("the delayed request never took effect")
		}
	}
	if got := redisSays(ctx, addr, "INFO commandstats"); !strings.Contains(got, "cmdstat_set:calls=1,") {
		t.Errorf("the acquire was sent more than once: %s", got)
	}
	if err := one.Release(ctx, "1.1"); err != nil {
		t.Errorf("release: %v", err)
	}
	if got := redisSays(ctx, addr, "EXISTS a"); got != ":0" {
		t.Errorf("after the release EXISTS says %s", got)
	}
}
