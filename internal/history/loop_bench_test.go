package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/service/redis"
	"lockbench/locks"
	"lockbench/locks/setnx"
)

const (
	loopClients = 10
	loopPairs   = 20
	loopLength  = time.Second
)

// BenchmarkRecordedLoop measures what recording takes from the loop that is
// recorded: ten clients that lock and unlock on a real Redis, bare and recorded in
// turn, and the median of the ratios pair by pair, since a machine drifts.
func BenchmarkRecordedLoop(b *testing.B) {
	addr := benchRedis(b)
	lockers := make([]locks.Locker, loopClients)
	for i := range lockers {
		l, err := setnx.New()(b.Context(), locks.Client{
			ID: i, Rand: rand.New(rand.NewPCG(1, uint64(i))),
			Store: redis.Store(locks.Single, locks.Node{Name: "redis-1", Addr: addr}),
		})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		lockers[i] = l
	}
	bare := func() float64 { return loop(b, lockers, nil) }
	recorded := func() float64 {
		f, err := os.Create(filepath.Join(b.TempDir(), "history.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		r, err := history.New(f, history.Header{}, 0)
		if err != nil {
			b.Fatal(err)
		}
		rate := loop(b, lockers, r)
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
		return rate
	}
	for b.Loop() {
		bare() // warm
		recorded()
		var ratios []float64
		var with, without float64
		for i := range loopPairs {
			// Whichever goes second finds the machine as the first has left it.
			if i%2 == 0 {
				without, with = bare(), recorded()
			} else {
				with, without = recorded(), bare()
			}
			ratios = append(ratios, with/without)
		}
		slices.Sort(ratios)
		b.ReportMetric((ratios[loopPairs/2-1]+ratios[loopPairs/2])/2, "recorded/bare")
		b.ReportMetric(ratios[0], "worst-pair")
		b.ReportMetric(without, "bare-ops/s")
	}
}

// loop lets the clients lock and unlock, each its own key, and tells how many of
// the two operations there were in a second.
func loop(b *testing.B, lockers []locks.Locker, r *history.Recorder) float64 {
	var ops atomic.Int64
	var wg sync.WaitGroup
	ctx := context.Background()
	start := time.Now()
	for i, l := range lockers {
		wg.Go(func() {
			key := string(rune('a' + i))
			base := history.Event{Process: history.Process(i), Client: int32(i)}
			record := func(t history.Type, f, session string) {
				if r == nil {
					return
				}
				e := base
				e.Type, e.F, e.Session = t, f, session
				if f == history.Acquire && t == history.Invoke {
					e.Key, e.TTL = key, time.Minute
				}
				r.Record(e)
			}
			n := 0
			for ; time.Since(start) < loopLength; n++ {
				session := ""
				if r != nil {
					session = fmt.Sprintf("%d.%d", i, n)
				}
				record(history.Invoke, history.Acquire, session)
				lease, err := l.Acquire(ctx, locks.Request{Keys: []string{key}, TTL: time.Minute})
				if err != nil {
					b.Errorf("acquire: %v", err)
					return
				}
				record(history.OK, history.Acquire, session)
				record(history.Invoke, history.Release, session)
				if err := lease.Release(ctx); err != nil {
					b.Errorf("release: %v", err)
					return
				}
				record(history.OK, history.Release, session)
			}
			ops.Add(int64(2 * n))
		})
	}
	wg.Wait()
	return float64(ops.Load()) / time.Since(start).Seconds()
}

// benchRedis starts a server with nothing in between.
func benchRedis(b *testing.B) string {
	b.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skipf("no redis-server: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = l.Close()
	server := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", b.TempDir())
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return addr
		}
		if time.Now().After(deadline) {
			b.Fatal("redis-server does not answer")
		}
		time.Sleep(5 * time.Millisecond)
	}
}
