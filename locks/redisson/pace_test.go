//go:build unix

package redisson_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
	"lockbench/locks/redisson"
	"lockbench/locks/setnx"
)

// BenchmarkPace compares three locks in one run without contention. Each client has its own name:
//
//	bare     set-nx: SET NX, and a script of GET and DEL
//	scripts  only the two scripts of redisson, which is the minimum for a port
//	ours     redisson
//
// Each ratio is measured for the pace and for the processor time of clients and server, which does not depend on the load of
// the machine. scripts/bare is the best ratio that the algorithm permits.
//
//	go test -run '^$' -bench Pace -benchtime 100000x ./locks/redisson/
func BenchmarkPace(b *testing.B) {
	for _, clients := range []int{10, 50} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := redistest.Start(b)
			openers := []locks.Opener{setnx.New(), scriptsAlone(b), redisson.New(redisson.Options{})}
			took, spent := make([]time.Duration, len(openers)), make([]time.Duration, len(openers))
			all := make([][]locks.Locker, len(openers))
			for i, opener := range openers {
				for id := range clients {
					l, _ := open(b, opener, s, id)
					all[i] = append(all[i], l)
				}
				pace(b, all[i], 10) // connects, loads the scripts
			}
			// Slices of the work alternate, so that changes of the load affect all locks.
			const slices = 20
			rounds := max(1, b.N/clients/slices)
			b.ResetTimer()
			for range slices {
				for i := range openers {
					start, before := time.Now(), processorTime(b, s)
					pace(b, all[i], rounds)
					took[i] += time.Since(start)
					spent[i] += processorTime(b, s) - before
				}
			}
			total := float64(slices * rounds * clients)
			for i, name := range []string{"bare", "scripts", "ours"} {
				b.ReportMetric(total/took[i].Seconds(), name+"/s")
				b.ReportMetric(float64(spent[i].Nanoseconds())/1e3/total, name+"-cpu-µs")
			}
			for _, of := range []struct {
				name string
				a, b int
			}{{"scripts/bare", 1, 0}, {"ours/bare", 2, 0}, {"ours/scripts", 2, 1}} {
				b.ReportMetric(took[of.b].Seconds()/took[of.a].Seconds(), of.name)
				b.ReportMetric(spent[of.b].Seconds()/spent[of.a].Seconds(), of.name+"-cpu")
			}
		})
	}
}

// processorTime returns the processor time of this process and of the server so far.
func processorTime(b *testing.B, s *redistest.Server) time.Duration {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	sum := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	info, err := s.Client.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		for _, kind := range []string{"used_cpu_sys:", "used_cpu_user:"} {
			var seconds float64
			if text, ok := strings.CutPrefix(line, kind); ok {
				if _, err := fmt.Sscan(text, &seconds); err != nil {
					b.Fatal(err)
				}
				sum += time.Duration(seconds * float64(time.Second))
			}
		}
	}
	return sum
}

func pace(b *testing.B, all []locks.Locker, rounds int) {
	var wg sync.WaitGroup
	for i, l := range all {
		wg.Go(func() {
			r := locks.Request{Keys: []string{fmt.Sprint("k", i)}, TTL: time.Minute}
			for range rounds {
				lease, err := l.Acquire(b.Context(), r)
				if err != nil {
					b.Error(err)
					return
				}
				if err := lease.Release(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// scriptsAlone is a lock like set-nx that runs redisson's scripts. Its latches are not deleted; they expire soon.
func scriptsAlone(b *testing.B) locks.Opener {
	script := func(name string) *goredis.Script {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		return goredis.NewScript(name, string(text))
	}
	acquire, release := script("rlock_acquire.lua"), script("rlock_release.lua")
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		client, err := goredis.Connect(c.Store)
		return &scripted{client, plain.NewTokens(c), acquire, release}, err
	}
}

type scripted struct {
	client           redis.UniversalClient
	tokens           *plain.Tokens
	acquire, release *goredis.Script
}

func (l *scripted) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	lease := &scriptedLease{l, r.Keys[0], l.tokens.Next()}
	if left, err := l.acquire.Run(ctx, l.client, r.Keys, r.TTL.Milliseconds(), lease.owner); err != nil || left != -2 {
		return nil, fmt.Errorf("%d ms left: %w", left, err)
	}
	return lease, nil
}

func (l *scripted) Close() error { return l.client.Close() }

type scriptedLease struct {
	*scripted
	key, owner string
}

func (l *scriptedLease) Release(ctx context.Context) error {
	keys := []string{l.key, "redisson_lock__channel:{" + l.key + "}", "redisson_unlock_latch:{" + l.key + "}:" + l.owner}
	freed, err := l.release.Run(ctx, l.client, keys, "0", 60_000, l.owner, "publish", 100)
	if err == nil && freed != 1 {
		err = fmt.Errorf("freed: %d", freed)
	}
	return err
}
