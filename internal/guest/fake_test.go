package guest

import (
	"context"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockbench/locks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeLocker is a lock made of functions.
type fakeLocker struct {
	acquire func(ctx context.Context, r locks.Request) (locks.Lease, error)
	close   func() error
}

func (l fakeLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if l.acquire == nil {
		return fakeLease{}, nil
	}
	return l.acquire(ctx, r)
}

func (l fakeLocker) Close() error {
	if l.close == nil {
		return nil
	}
	return l.close()
}

func (l fakeLocker) open(context.Context, locks.Client) (locks.Locker, error) { return l, nil }

// fakeLease is a lease that can only be released.
type fakeLease struct {
	release func(ctx context.Context) error
}

func (l fakeLease) Release(ctx context.Context) error {
	if l.release == nil {
		return nil
	}
	return l.release(ctx)
}

type boundedLease struct {
	fakeLease
	until *time.Time
}

func (l boundedLease) Until() time.Time { return *l.until }
func (l boundedLease) Renew(_ context.Context, ttl time.Duration) error {
	*l.until = time.Now().Add(ttl)
	return nil
}

func bounded(ttl time.Duration) boundedLease {
	until := time.Now().Add(ttl)
	return boundedLease{until: &until}
}

// unconfirmedLease is a lease whose library returns nothing from its renewal.
type unconfirmedLease struct{ boundedLease }

func (unconfirmedLease) Renew(context.Context, time.Duration) error { return locks.ErrUnconfirmed }

// silentLease is renewed and reports no end.
type silentLease struct{ boundedLease }

func (silentLease) Renew(context.Context, time.Duration) error { return nil }

type watchedLease struct {
	fakeLease
	lost chan struct{}
}

func (l watchedLease) Lost() <-chan struct{} { return l.lost }

type richLease struct{ boundedLease }

func (richLease) Token() uint64         { return 7 }
func (richLease) Nodes() []string       { return []string{"redis-1", "redis-3"} }
func (richLease) Lease() time.Duration  { return 30 * time.Second }
func (richLease) Period() time.Duration { return 20 * time.Second }

// talk is a host that sends prepared requests to Serve and reads the answers.
type talk struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *lines
	served chan error
}

// serveFake starts a guest and opens it.
func serveFake(t *testing.T, l fakeLocker) *talk {
	t.Helper()
	k := serveBare(t, Hello{Name: "fake", Family: "control"}, Always(l.open), io.Discard)
	k.expect(`{"hello":"lockbench-guest/1","name":"fake","family":"control"}`)
	k.ask(`{"id":1,"op":"open"}`, `{"id":1,"ok":true}`)
	return k
}

func serveBare(t *testing.T, h Hello, open OpenFunc, log io.Writer) *talk {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	k := &talk{t: t, in: inW, out: newLines(outR), served: make(chan error, 1)}
	s := newServer(open, outW, log)
	go func() {
		err := s.serve(t.Context(), inR, h)
		_ = outW.Close()
		k.served <- err
	}()
	return k
}

func (k *talk) say(line string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Fatalf("write %s: %v", line, err)
	}
}

func (k *talk) expect(want string) {
	k.t.Helper()
	line, _, err := k.out.next()
	if err != nil {
		k.t.Fatalf("read an answer: %v; want %s", err, want)
	}
	if got := string(line); got != want {
		k.t.Fatalf("answer\n got %s\nwant %s", got, want)
	}
}

func (k *talk) ask(line, want string) {
	k.t.Helper()
	k.say(line)
	k.expect(want)
}

// end ends the guest's input and waits for Serve.
func (k *talk) end() error {
	k.t.Helper()
	_ = k.in.Close()
	for {
		line, _, err := k.out.next()
		if err != nil {
			break
		}
		k.t.Errorf("unexpected line: %s", line)
	}
	return <-k.served
}
