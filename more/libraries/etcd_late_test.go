//go:build linux

package libraries

import (
	"context"
	"fmt"
	"math"
	"net"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// BenchmarkEtcdSessionToldLate measures how late a holder that is cut off from etcd learns of the end of its session, after the
// server has granted its lock to another client. See docs/findings/etcd-session.md.
func BenchmarkEtcdSessionToldLate(b *testing.B) {
	dir := b.TempDir()
	_, program := builtPrograms(b)
	at := freeAddress(b)
	server := exec.Command(program, "serve", "etcd", "--data-dir="+filepath.Join(dir, "data"), "--log-level=error",
		"--listen-client-urls=http://"+at, "--advertise-client-urls=http://"+at, "--listen-peer-urls=http://"+freeAddress(b))
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	watcher, err := clientv3.New(clientv3.Config{Endpoints: []string{at}, Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	defer watcher.Close()
	for _, c := range []struct {
		dial  time.Duration
		ttl   int
		after time.Duration // since it was granted
	}{
		{0, 2, 100 * time.Millisecond}, {5 * time.Second, 2, 100 * time.Millisecond}, {5 * time.Second, 5, 100 * time.Millisecond},
		{5 * time.Second, 10, 100 * time.Millisecond}, {5 * time.Second, 2, 2 * time.Second},
	} {
		name := fmt.Sprintf("DialTimeout=%v/TTL=%ds/cut=%v", c.dial, c.ttl, c.after)
		b.Run(name, func(b *testing.B) {
			late, most := time.Duration(0), time.Duration(math.MinInt64)
			for n := range b.N {
				one := toldLate(b, at, watcher, fmt.Sprint(name, "/", b.N, "/", n), c.dial, c.ttl, c.after)
				late, most = late+one, max(most, one)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(late.Milliseconds())/float64(b.N), "ms-late")
			b.ReportMetric(float64(most.Milliseconds()), "ms-late-at-most")
		})
	}
}

func toldLate(t *testing.B, at string, watcher *clientv3.Client, name string, dial time.Duration, ttl int, after time.Duration) time.Duration {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var cut atomic.Bool
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{at}, DialTimeout: dial, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			return &hole{c, &cut}, err
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// The process has had sessions before.
	first, err := concurrency.NewSession(client, concurrency.WithTTL(60))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Orphan()
	time.Sleep(700 * time.Millisecond) // between two of its rounds of renewals
	s, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		t.Fatal(err)
	}
	m := concurrency.NewMutex(s, "/late/"+name)
	if err := m.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	deleted := watcher.Watch(ctx, m.Key(), clientv3.WithRev(m.Header().Revision+1))
	time.Sleep(after)
	cut.Store(true)
	done := s.Done()
	var gone, told time.Time
	for gone.IsZero() || told.IsZero() {
		select {
		case <-done:
			told, done = time.Now(), nil
		case r := <-deleted:
			if len(r.Events) > 0 {
				gone, deleted = time.Now(), nil
			}
		case <-ctx.Done():
			t.Fatalf("%s: deleted %t, told %t", name, !gone.IsZero(), !told.IsZero())
		}
	}
	return told.Sub(gone)
}

// hole is a connection that neither sends nor receives while it is cut.
type hole struct {
	net.Conn
	cut *atomic.Bool
}

func (h *hole) Write(b []byte) (int, error) {
	if h.cut.Load() {
		return len(b), nil
	}
	return h.Conn.Write(b)
}

func (h *hole) Read(b []byte) (int, error) {
	for {
		n, err := h.Conn.Read(b)
		if err != nil || !h.cut.Load() {
			return n, err
		}
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
