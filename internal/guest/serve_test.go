package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/locks"
)

const acquire31 = `{"id":2,"op":"acquire","session":"3.1","key":"a","ttl_ns":5000000000}`

func TestServeAnswers(t *testing.T) {
	yes := func(l locks.Lease, err error) fakeLocker {
		return fakeLocker{acquire: func(context.Context, locks.Request) (locks.Lease, error) { return l, err }}
	}
	releases := func(err error) fakeLocker {
		return yes(fakeLease{release: func(context.Context) error { return err }}, nil)
	}
	granted := []string{acquire31, `{"id":2,"ok":true}`}
	for name, c := range map[string]struct {
		lock fakeLocker
		talk []string // requests and their answers in turn
	}{
		"grant and release": {fakeLocker{}, append(granted, `{"id":3,"op":"check","session":"3.1"}`, `{"id":3,"ok":true}`,
			`{"id":4,"op":"touch","session":"3.1"}`, `{"id":4,"ok":true}`,
			`{"id":5,"op":"release","session":"3.1"}`, `{"id":5,"ok":true}`,
			`{"id":6,"op":"release","session":"3.1"}`, `{"id":6,"fail":"not-held","text":"not held: session 3.1 has ended"}`,
			`{"id":7,"op":"touch","session":"3.1"}`, `{"id":7,"fail":"bad-request","text":"session \"3.1\" has ended"}`)},
		"taken": {yes(nil, fmt.Errorf("set a: %w", locks.ErrTaken)), []string{acquire31, `{"id":2,"fail":"taken","text":"set a: taken"}`,
			`{"id":3,"op":"release","session":"3.1"}`, `{"id":3,"fail":"not-held","text":"not held: session 3.1 has ended"}`}},
		"unsupported":    {yes(nil, locks.ErrUnsupported), []string{acquire31, `{"id":2,"fail":"unsupported","text":"unsupported"}`}},
		"misplaced fail": {yes(nil, locks.ErrNotHeld), []string{acquire31, `{"id":2,"unknown":"not held"}`}},
		"nothing":        {yes(nil, nil), []string{acquire31, `{"id":2,"unknown":"the lock returned neither a lease nor an error"}`}},
		"unknown with a lease": {yes(fakeLease{}, io.ErrUnexpectedEOF), []string{acquire31, `{"id":2,"unknown":"unexpected EOF"}`,
			`{"id":3,"op":"check","session":"3.1"}`, `{"id":3,"fail":"bad-request","text":"the acquire of session \"3.1\" was not answered with ok"}`,
			`{"id":4,"op":"release","session":"3.1"}`, `{"id":4,"ok":true}`}},
		"unknown without a lease": {yes(nil, io.ErrUnexpectedEOF), []string{acquire31, `{"id":2,"unknown":"unexpected EOF"}`,
			`{"id":3,"op":"release","session":"3.1"}`, `{"id":3,"unknown":"the acquire of this session ended unknown and gave nothing to release"}`}},
		"unknown release stays": {releases(io.ErrUnexpectedEOF), append(granted,
			`{"id":3,"op":"release","session":"3.1"}`, `{"id":3,"unknown":"unexpected EOF"}`,
			`{"id":4,"op":"release","session":"3.1"}`, `{"id":4,"unknown":"unexpected EOF"}`)},
		"not held": {releases(locks.ErrNotHeld), append(granted,
			`{"id":3,"op":"release","session":"3.1"}`, `{"id":3,"fail":"not-held","text":"not held"}`,
			`{"id":4,"op":"release","session":"3.1"}`, `{"id":4,"fail":"not-held","text":"not held: session 3.1 has ended"}`)},
		"done": {releases(fmt.Errorf("unlock: %w", locks.ErrUnconfirmed)), append(granted,
			`{"id":3,"op":"release","session":"3.1"}`, `{"id":3,"done":true}`,
			`{"id":4,"op":"release","session":"3.1"}`, `{"id":4,"fail":"not-held","text":"not held: session 3.1 has ended"}`)},
		"done renewal": {yes(unconfirmedLease{bounded(-time.Second)}, nil), []string{`{"id":2,"op":"acquire","session":"3.1","key":"a"}`, `{"id":2,"ok":true,"until_ns":0}`,
			`{"id":3,"op":"renew","session":"3.1","ttl_ns":5}`, `{"id":3,"done":true}`}},
		"misplaced done": {yes(nil, locks.ErrUnconfirmed), []string{acquire31, `{"id":2,"unknown":"unconfirmed"}`}},
		"no renewal": {fakeLocker{}, append(granted,
			`{"id":3,"op":"renew","session":"3.1"}`, `{"id":3,"fail":"unsupported","text":"unsupported: leases of this lock cannot be renewed"}`)},
		"a session twice": {fakeLocker{}, append(granted, strings.Replace(acquire31, "2", "3", 1),
			`{"id":3,"fail":"bad-request","text":"session \"3.1\" was used before; every acquire has a session of its own"}`)},
		"opened twice": {fakeLocker{}, []string{`{"id":2,"op":"open"}`,
			`{"id":2,"fail":"bad-request","text":"this guest was opened before; one guest is one client"}`}},
		"stranger": {fakeLocker{}, []string{`{"id":2,"op":"release","session":"9.9"}`,
			`{"id":2,"fail":"bad-request","text":"session \"9.9\" is not known"}`}},
		"bad requests": {fakeLocker{}, []string{
			`{"id":2,"op":"sing"}`, `{"id":2,"fail":"bad-request","text":"operation \"sing\" is not known"}`,
			`{"id":3,"op":5}`, `{"id":3,"fail":"bad-request","text":"the line is not a request: json: cannot unmarshal number into Go struct field Request.op of type string: \"{\\\"id\\\":3,\\\"op\\\":5}\""}`,
			`{"id":4,"op":"acquire","session":"3.1"}`, `{"id":4,"fail":"bad-request","text":"an acquire has either a key or keys"}`,
			`{"id":5,"op":"acquire","session":"3.1","key":"a","keys":["b"]}`, `{"id":5,"fail":"bad-request","text":"an acquire has either a key or keys"}`,
			`{"id":6,"op":"acquire","key":"a"}`, `{"id":6,"fail":"bad-request","text":"an acquire has a session"}`,
			`{"id":7,"op":"acquire","session":"3.1","key":"a","mode":"x"}`, `{"id":7,"fail":"bad-request","text":"mode \"x\" is not one of exclusive, shared"}`,
			`{"id":8,"op":"acquire","session":"3.1","key":"a","ttl_ns":-1}`, `{"id":8,"fail":"bad-request","text":"ttl_ns is negative"}`,
			`{"id":9,"op":"acquire","session":"3.1","key":"a","wait_ns":-1}`, `{"id":9,"fail":"bad-request","text":"wait_ns is negative"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			k := serveFake(t, c.lock)
			for i := 0; i < len(c.talk); i += 2 {
				k.ask(c.talk[i], c.talk[i+1])
			}
			if err := k.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The request as the lock gets it.
func TestServePassesTheRequestOn(t *testing.T) {
	var got locks.Request
	k := serveFake(t, fakeLocker{acquire: func(_ context.Context, r locks.Request) (locks.Lease, error) {
		got = r
		got.Queued = nil // see the test below
		return fakeLease{}, nil
	}})
	k.ask(`{"id":2,"op":"acquire","session":"3.1","keys":["a","b"],"mode":"shared","owner":"o","ttl_ns":5,"wait_ns":6}`, `{"id":2,"ok":true}`)
	want := locks.Request{Keys: []string{"a", "b"}, Mode: locks.Shared, Owner: "o", TTL: 5, Wait: 6}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the lock was asked for %+v, want %+v", got, want)
	}
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

// The notice that an acquire is queued comes before its answer.
func TestServeNoticesTheQueue(t *testing.T) {
	k := serveFake(t, fakeLocker{acquire: func(_ context.Context, r locks.Request) (locks.Lease, error) {
		r.Queued()
		return fakeLease{}, nil
	}})
	k.say(`{"id":2,"op":"acquire","session":"3.1","key":"a","wait_ns":6}`)
	k.expect(`{"notice":"queued","session":"3.1"}`)
	k.expect(`{"id":2,"ok":true}`)
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

// A lease counts from when the request was read, so a slow acquire shortens it. An expired lease counts as 0.
func TestServeUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := serveFake(t, fakeLocker{acquire: func(_ context.Context, r locks.Request) (locks.Lease, error) {
			time.Sleep(300 * time.Millisecond) // a refused first attempt
			l := richLease{bounded(r.TTL)}
			time.Sleep(200 * time.Millisecond) // a slow server
			return l, nil
		}})
		k.ask(acquire31, `{"id":2,"ok":true,"until_ns":5300000000,"token":7,"nodes":["redis-1","redis-3"],"lease_ns":30000000000,"renewed":true,"period_ns":20000000000}`)
		time.Sleep(time.Second)
		k.ask(`{"id":3,"op":"renew","session":"3.1","ttl_ns":2000000000}`, `{"id":3,"ok":true,"until_ns":2000000000}`)
		time.Sleep(2*time.Second - time.Nanosecond)
		k.ask(`{"id":4,"op":"check","session":"3.1"}`, `{"id":4,"ok":true}`)
		time.Sleep(time.Nanosecond)
		k.ask(`{"id":5,"op":"check","session":"3.1"}`, `{"id":5,"fail":"lost","text":"the lease is over"}`)
		k.ask(`{"id":6,"op":"touch","session":"3.1"}`, `{"id":6,"ok":true}`)
		k.ask(`{"id":7,"op":"release","session":"3.1"}`, `{"id":7,"ok":true}`)
		if err := k.end(); err != nil {
			t.Error(err)
		}
	})
}

// A lease that reports no end counts from the answer.
func TestServeNoUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var never time.Time
		k := serveFake(t, fakeLocker{acquire: func(context.Context, locks.Request) (locks.Lease, error) {
			time.Sleep(6 * time.Second) // longer than the ttl
			return silentLease{boundedLease{until: &never}}, nil
		}})
		k.ask(acquire31, `{"id":2,"ok":true}`)
		time.Sleep(5*time.Second - time.Nanosecond)
		k.ask(`{"id":3,"op":"check","session":"3.1"}`, `{"id":3,"ok":true}`)
		k.ask(`{"id":4,"op":"renew","session":"3.1","ttl_ns":2000000000}`, `{"id":4,"ok":true}`)
		time.Sleep(2*time.Second - time.Nanosecond)
		k.ask(`{"id":5,"op":"check","session":"3.1"}`, `{"id":5,"ok":true}`)
		time.Sleep(time.Nanosecond)
		k.ask(`{"id":6,"op":"check","session":"3.1"}`, `{"id":6,"fail":"lost","text":"the ttl is over"}`)
		if err := k.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestUntilFromClamps(t *testing.T) {
	now := time.Now()
	before := now.Add(-time.Second)
	if d := untilFrom(now, boundedLease{until: &before}); d == nil || *d != 0 {
		t.Errorf("an expired lease: until_ns %v, want 0", d)
	}
	var never time.Time
	if d := untilFrom(now, boundedLease{until: &never}); d != nil {
		t.Errorf("a lease without an end: until_ns %v, want none", *d)
	}
}

func TestServeNoticesLoss(t *testing.T) {
	lost := make(chan struct{})
	k := serveFake(t, fakeLocker{acquire: func(context.Context, locks.Request) (locks.Lease, error) {
		return watchedLease{lost: lost}, nil
	}})
	k.ask(acquire31, `{"id":2,"ok":true}`)
	k.ask(`{"id":3,"op":"check","session":"3.1"}`, `{"id":3,"ok":true}`)
	close(lost)
	k.expect(`{"notice":"lost","session":"3.1"}`)
	k.ask(`{"id":4,"op":"check","session":"3.1"}`, `{"id":4,"fail":"lost","text":"the library says so"}`)
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

// If a lock is lost at the moment of its grant, the answer comes before the notice.
func TestServeNoticeComesAfterTheGrant(t *testing.T) {
	for range 50 {
		lost := make(chan struct{})
		close(lost)
		k := serveFake(t, fakeLocker{acquire: func(context.Context, locks.Request) (locks.Lease, error) {
			return watchedLease{lost: lost}, nil
		}})
		k.ask(acquire31, `{"id":2,"ok":true}`)
		k.expect(`{"notice":"lost","session":"3.1"}`)
		if err := k.end(); err != nil {
			t.Error(err)
		}
	}
}

// A library that closes the channel on release does not report a loss.
func TestServeNoNoticeOfARelease(t *testing.T) {
	lost := make(chan struct{})
	k := serveFake(t, fakeLocker{acquire: func(context.Context, locks.Request) (locks.Lease, error) {
		return watchedLease{lost: lost, fakeLease: fakeLease{release: func(context.Context) error { close(lost); return nil }}}, nil
	}})
	k.ask(acquire31, `{"id":2,"ok":true}`)
	k.ask(`{"id":3,"op":"release","session":"3.1"}`, `{"id":3,"ok":true}`)
	if err := k.end(); err != nil { // complains about a notice
		t.Error(err)
	}
}

// A host that gave up on an acquire releases it while the lock still tries.
func TestServeReleaseWaitsForItsAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := false
		k := serveFake(t, fakeLocker{acquire: func(context.Context, locks.Request) (locks.Lease, error) {
			time.Sleep(time.Second)
			return fakeLease{release: func(context.Context) error { released = true; return nil }}, nil
		}})
		k.say(acquire31)
		k.say(`{"id":3,"op":"release","session":"3.1"}`)
		k.expect(`{"id":2,"ok":true}`)
		k.expect(`{"id":3,"ok":true}`)
		if !released {
			t.Error("the late grant was not released")
		}
		if err := k.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestServePanic(t *testing.T) {
	var log bytes.Buffer
	l := fakeLocker{acquire: func(context.Context, locks.Request) (locks.Lease, error) { panic("no luck") }}
	k := serveBare(t, Hello{}, Always(l.open), &log)
	k.expect(`{"hello":"lockbench-guest/1","name":"","family":""}`)
	k.ask(acquire31, `{"id":2,"fail":"bad-request","text":"acquire comes after an open that was answered with ok"}`)
	k.ask(`{"id":1,"op":"open"}`, `{"id":1,"ok":true}`)
	k.ask(acquire31, `{"id":2,"unknown":"the lock panicked in acquire: no luck"}`)
	k.ask(`{"id":3,"op":"release","session":"3.1"}`, `{"id":3,"unknown":"the acquire of this session ended unknown and gave nothing to release"}`)
	if err := k.end(); err != nil {
		t.Error(err)
	}
	if s := log.String(); !strings.Contains(s, "no luck") || !strings.Contains(s, "serve_test.go") {
		t.Errorf("the log does not say where it panicked: %s", s)
	}
}

func TestServeEnds(t *testing.T) {
	entered := make(chan struct{})
	hang := fakeLocker{acquire: func(ctx context.Context, _ locks.Request) (locks.Lease, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	t.Run("close", func(t *testing.T) {
		closed := 0
		k := serveFake(t, fakeLocker{close: func() error { closed++; return errors.New("busy") }})
		k.ask(`{"id":2,"op":"close"}`, `{"id":2,"unknown":"close the lock: busy"}`)
		if err := <-k.served; err != nil {
			t.Error(err)
		}
		if closed != 1 {
			t.Errorf("closed %d times", closed)
		}
		_ = k.in.Close()
	})
	t.Run("input ends", func(t *testing.T) {
		closed := 0
		hang := hang
		hang.close = func() error { closed++; return nil }
		k := serveFake(t, hang)
		k.say(acquire31)
		<-entered
		_ = k.in.Close()
		k.expect(`{"id":2,"unknown":"context canceled"}`)
		if err := k.end(); err != nil || closed != 1 {
			t.Errorf("%v, closed %d times", err, closed)
		}
	})
	t.Run("deaf lock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			entered, wake := make(chan struct{}), make(chan struct{})
			k := serveFake(t, fakeLocker{acquire: func(context.Context, locks.Request) (locks.Lease, error) {
				close(entered)
				<-wake
				return nil, locks.ErrTaken
			}})
			k.say(acquire31)
			<-entered
			err := k.end()
			if err == nil || !strings.Contains(err.Error(), "went on 2s after") {
				t.Errorf("err = %v", err)
			}
			close(wake)
		})
	})
	t.Run("output breaks", func(t *testing.T) {
		r, w := io.Pipe()
		s := newServer(Always(fakeLocker{}.open), brokenWriter{after: 1, n: new(int)}, io.Discard)
		served := make(chan error, 1)
		go func() { served <- s.serve(t.Context(), r, Hello{}) }()
		_, _ = io.WriteString(w, `{"id":1,"op":"open"}`+"\n")
		if err := <-served; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("err = %v", err)
		}
		_ = w.Close()
	})
}

type brokenWriter struct {
	after int
	n     *int
}

func (w brokenWriter) Write(p []byte) (int, error) {
	if *w.n++; *w.n > w.after {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestSessionsForget(t *testing.T) {
	s := newSessions()
	for i := range endedSessionsMax + 10 {
		name := fmt.Sprint(i)
		if s.begin(name) == nil {
			t.Fatal("a new name was refused")
		}
		s.end(name)
	}
	if len(s.ended) != endedSessionsMax || len(s.live) != 0 {
		t.Errorf("%d ended and %d live sessions are remembered", len(s.ended), len(s.live))
	}
}

func FuzzServe(f *testing.F) {
	f.Add([]byte(acquire31 + "\n" + `{"id":3,"op":"release","session":"3.1"}` + "\n{\"id\":4"))
	f.Add([]byte("\xff\n\n[1]\nnull\n{\"op\":\"close\"}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		r := io.MultiReader(strings.NewReader(`{"id":1,"op":"open"}`+"\n"), bytes.NewReader(in))
		if err := Serve(t.Context(), r, &out, Hello{Name: "fuzz"}, Always(fakeLocker{}.open)); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if bytes.HasPrefix(line, []byte(`{"hello"`)) {
				continue
			}
			if a := mustAnswer(t, line); ruleBroken(a) != "" {
				t.Errorf("%s: %s", ruleBroken(a), line)
			}
		}
	})
}
