package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/secret"
	"lockbench/locks"
)

const helloLine = `{"hello":"lockbench-guest/1","name":"fake","family":"control"}`

// script is a guest that sends prepared lines to a Conn.
type script struct {
	t        *testing.T
	conn     *Conn
	requests *lines
	in       *io.PipeReader
	out      *io.PipeWriter

	mu           sync.Mutex
	noise        []string
	warns        []string
	lost, queued []string
}

func newScript(t *testing.T) *script {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &script{t: t, requests: newLines(inR), in: inR, out: outW}
	add := func(to *[]string) func(string) {
		return func(line string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			*to = append(*to, line)
		}
	}
	s.conn = NewConn(outR, inW, ConnOptions{Noise: add(&s.noise), Warn: add(&s.warns), Lost: add(&s.lost), Queued: add(&s.queued)})
	return s
}

func (s *script) say(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.out, line+"\n"); err != nil {
		s.t.Fatalf("write %s: %v", line, err)
	}
}

func (s *script) request() Request {
	s.t.Helper()
	line, _, err := s.requests.next()
	if err != nil {
		s.t.Fatalf("read a request: %v", err)
	}
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// end is the guest's exit.
func (s *script) end() {
	_ = s.out.Close()
	_ = s.in.Close()
	<-s.conn.Gone()
	<-s.conn.ended
}

func async[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

func mustAnswer(t *testing.T, line []byte) Answer {
	t.Helper()
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return a
}

func TestConnHello(t *testing.T) {
	s := newScript(t)
	s.say("WARNING: an illegal reflective access operation has occurred")
	s.say(`{"hello":"world"}`)
	s.say(helloLine)
	h, err := s.conn.Hello(t.Context())
	if err != nil || h.Name != "fake" || h.Family != "control" {
		t.Errorf("Hello() = %+v, %v", h, err)
	}
	if n := s.conn.Heard().Lines; n != 2 {
		t.Errorf("%d lines of noise, want 2", n)
	}
	s.end()
}

func TestConnHelloFails(t *testing.T) {
	t.Run("version", func(t *testing.T) {
		s := newScript(t)
		s.say(`{"hello":"lockbench-guest/2","name":"x"}`)
		<-s.conn.Gone()
		if _, err := s.conn.Hello(t.Context()); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), `its protocol is "lockbench-guest/2"`) {
			t.Errorf("err = %v", err)
		}
		s.say("still heard, so that the guest is never stuck")
		s.end()
	})
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t)
			start := time.Now()
			_, err := s.conn.Hello(t.Context())
			if d := time.Since(start); err == nil || d != helloLimit || !strings.Contains(err.Error(), "flushed") {
				t.Errorf("after %v: %v", d, err)
			}
			s.end()
		})
	})
	t.Run("end", func(t *testing.T) {
		s := newScript(t)
		s.end()
		if _, err := s.conn.Hello(t.Context()); !errors.Is(err, ErrGone) {
			t.Errorf("err = %v", err)
		}
	})
}

// A guest that does not answer open is given up after a limit. The error quotes its first line outside the protocol, which
// was probably meant to be the answer.
func TestConnOpenHasALimit(t *testing.T) {
	for name, test := range map[string]struct {
		said  string
		limit time.Duration
	}{
		"mute": {"", 0}, "no JSON": {"OK", 0}, "a limit of its own": {"", 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t)
				want := OpenLimit
				if test.limit > 0 {
					want, s.conn.o.OpenLimit = test.limit, test.limit
				}
				start := time.Now()
				opened := async(func() error { return s.conn.Open(t.Context(), Request{}) })
				if r := s.request(); r.Op != OpOpen {
					t.Errorf("request %+v", r)
				}
				if test.said != "" {
					s.say(test.said)
				}
				select {
				case err := <-opened:
					if d := time.Since(start); d != want {
						t.Errorf("ended after %v, want %v", d, want)
					}
					if !errors.Is(err, ErrNoAnswer) || Definite(err) ||
						!strings.Contains(err.Error(), fmt.Sprintf("no answer within %v", want)) ||
						test.said != "" && !strings.Contains(err.Error(), `outside the protocol: "OK"`) {
						t.Errorf("err = %v", err)
					}
				case <-time.After(time.Hour):
					t.Error("it has waited for an hour")
				}
				s.end()
			})
		})
	}
}

// Forty callers at once, answered backwards.
func TestConnAnswersOutOfOrder(t *testing.T) {
	s := newScript(t)
	const callers = 40
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			g, err := s.conn.Acquire(t.Context(), fmt.Sprint(i), locks.Request{Keys: []string{"a"}, TTL: time.Second})
			switch {
			case err != nil:
				errs[i] = err
			case g.Token == nil || *g.Token != uint64(i):
				errs[i] = fmt.Errorf("caller %d got the answer %+v", i, g)
			}
		})
	}
	var rs []Request
	for range callers {
		rs = append(rs, s.request())
	}
	for i := range rs {
		r := rs[len(rs)-1-i]
		s.say(fmt.Sprintf(`{"id":%d,"ok":true,"token":%s}`, r.ID, r.Session))
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	s.end()
}

func TestConnOutcomes(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		op, answer string
		is         error // nil: unknown
		text       string
	}{
		{"acquire", `"fail":"taken"`, locks.ErrTaken, "acquire of session 3.1: taken"},
		{"acquire", `"fail":"taken","text":"taken: by 4.2"`, locks.ErrTaken, "acquire of session 3.1: taken: by 4.2"},
		{"acquire", `"fail":"unsupported"`, locks.ErrUnsupported, ""},
		{"acquire", `"fail":"not-held"`, nil, "is not one of taken, unsupported, bad-request"},
		{"acquire", `"unknown":"taken"`, nil, ""}, // a text is not an outcome, whatever it says
		{"acquire", `"ok":true,"fail":"taken"`, nil, "2 outcomes"},
		{"acquire", `"nodes":[]`, nil, "0 outcomes"},
		{"acquire", `"done":true`, nil, "the guest answered acquire with done"},
		{"check", `"done":true`, nil, "the guest answered check with done"},
		{"release", `"ok":true,"done":true`, nil, "2 outcomes"},
		{"acquire", `"ok":"yes"`, nil, "cannot be read: ok takes true or false, not this string"},
		{"acquire", `"ok":true,"token":-7`, nil, "cannot be read: token takes a whole number from 0, not this number -7"},
		{"acquire", `"ok":true,"until_ns":1.5`, nil, "cannot be read: until_ns takes a whole number, not this number 1.5"},
		{"acquire", `"ok":true,"nodes":"redis-1"`, nil, "cannot be read: nodes takes a list, not this string"},
		{"acquire", `"ok":true,"lease_ns":-1`, nil, "negative lease_ns"},
		{"acquire", `"ok":true,"lease_ns":3,"period_ns":4`, nil, "period_ns that is not between 0 and lease_ns"},
		{"release", `"fail":"not-held"`, locks.ErrNotHeld, ""},
		{"release", `"fail":"taken"`, nil, `fail "taken"`},
		{"renew", `"fail":"not-held"`, locks.ErrNotHeld, ""},
		{"check", `"fail":"lost"`, ErrLost, ""},
		{"touch", `"fail":"lost"`, nil, ""},
		{"touch", `"fail":"bad-request"`, ErrBadRequest, ""},
	} {
		t.Run(c.op+" "+c.answer, func(t *testing.T) {
			s := newScript(t)
			got := async(func() error {
				switch c.op {
				case "acquire":
					_, err := s.conn.Acquire(ctx, "3.1", locks.Request{Keys: []string{"a"}})
					return err
				case "renew":
					_, err := s.conn.Renew(ctx, "3.1", time.Second)
					return err
				case "release":
					return s.conn.Release(ctx, "3.1")
				case "check":
					return s.conn.Check(ctx, "3.1")
				}
				return s.conn.Touch(ctx, "3.1")
			})
			s.say(fmt.Sprintf(`{"id":%d,%s}`, s.request().ID, c.answer))
			err := <-got
			if err == nil || Definite(err) != (c.is != nil) || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("err = %v, definite: %v", err, Definite(err))
			}
			s.end()
		})
	}
}

// The answer done is neither a success nor a failure, and no noise.
func TestConnDone(t *testing.T) {
	for _, op := range []string{"release", "renew"} {
		t.Run(op, func(t *testing.T) {
			s := newScript(t)
			got := async(func() error {
				if op == "release" {
					return s.conn.Release(t.Context(), "3.1")
				}
				until, err := s.conn.Renew(t.Context(), "3.1", time.Second)
				if until != nil {
					t.Errorf("until = %v", *until)
				}
				return err
			})
			s.say(fmt.Sprintf(`{"id":%d,"done":true,"until_ns":5}`, s.request().ID))
			if err := <-got; !errors.Is(err, locks.ErrUnconfirmed) || Definite(err) {
				t.Errorf("err = %v, definite: %v", err, Definite(err))
			}
			if n := s.conn.Heard().Lines; n != 0 {
				t.Errorf("%d lines of noise", n)
			}
			s.end()
		})
	}
}

// A lease that ended before the request was read is a mistake of the guest's clock, and not of its lock.
func TestConnUntilIsNegative(t *testing.T) {
	s := newScript(t)
	got := async(func() Grant {
		g, err := s.conn.Acquire(t.Context(), "3.1", locks.Request{Keys: []string{"a"}, TTL: time.Second})
		if err != nil {
			t.Error(err)
		}
		return g
	})
	s.request()
	s.say(`{"id":1,"ok":true,"until_ns":-7000000}`)
	if g := <-got; g.Until == nil || *g.Until != 0 {
		t.Errorf("grant %+v", g)
	}
	s.end()
	if len(s.warns) != 1 || !strings.Contains(s.warns[0], "a lease that ended 7ms before it read the request") {
		t.Errorf("warnings %q", s.warns)
	}
}

func TestConnGrant(t *testing.T) {
	s := newScript(t)
	got := async(func() Grant {
		g, err := s.conn.Acquire(t.Context(), "3.1", locks.Request{Keys: []string{"a", "b"}, Mode: locks.Shared, Owner: "o", TTL: 5, Wait: 6})
		if err != nil {
			t.Error(err)
		}
		return g
	})
	r := s.request()
	if r.Key != "" || fmt.Sprint(r.Keys) != "[a b]" || r.Mode != "shared" || r.Owner != "o" || r.TTL != 5 || r.Wait != 6 {
		t.Errorf("request %+v", r)
	}
	s.say(`{"id":1,"ok":true,"until_ns":-7,"token":0,"nodes":["redis-1"],"lease_ns":30,"renewed":true,"period_ns":20,"later":"field"}`)
	g := <-got
	if g.Until == nil || *g.Until != 0 || g.Token == nil || *g.Token != 0 || len(g.Nodes) != 1 || g.Lease != 30 || !g.Renewed || g.Period != 20 {
		t.Errorf("grant %+v", g)
	}
	s.end()
}

// An end that is a point in time instead of a duration causes a warning, but the value is not changed.
func TestConnUntilIsRelative(t *testing.T) {
	for name, test := range map[string]struct {
		r     locks.Request
		until time.Duration
		warns bool
	}{
		"what was asked":      {locks.Request{TTL: 2 * time.Second}, 2 * time.Second, false},
		"after a wait":        {locks.Request{TTL: 2 * time.Second, Wait: 5 * time.Minute}, 5 * time.Minute, false},
		"a shortest lease":    {locks.Request{TTL: 2 * time.Second}, 15 * time.Second, false},
		"the lock's own":      {locks.Request{}, time.Hour, false},
		"since the boot":      {locks.Request{TTL: 2 * time.Second}, 6385 * time.Second, true},
		"since the year 1970": {locks.Request{TTL: 2 * time.Second, Wait: time.Minute}, 1.8e9 * time.Second, true},
	} {
		s := newScript(t)
		got := async(func() Grant {
			test.r.Keys = []string{"a"}
			g, err := s.conn.Acquire(t.Context(), "3.1", test.r)
			if err != nil {
				t.Error(err)
			}
			return g
		})
		s.say(fmt.Sprintf(`{"id":%d,"ok":true,"until_ns":%d}`, s.request().ID, test.until))
		if g := <-got; g.Until == nil || *g.Until != test.until {
			t.Errorf("%s: grant %+v", name, g)
		}
		s.end()
		want := fmt.Sprintf("the guest reports a lease of %.0f s for a request of 2 s; until_ns is relative", test.until.Seconds())
		if warned := len(s.warns) == 1 && strings.Contains(s.warns[0], want); warned != test.warns || len(s.warns) > 1 {
			t.Errorf("%s: warnings %q", name, s.warns)
		}
	}
}

// Keys get a prefix on external servers. An empty name stays empty, so that the lock refuses it.
func TestConnKeyPrefix(t *testing.T) {
	s := newScript(t)
	s.conn.o.KeyPrefix = "mine:"
	for key, want := range map[string]string{"a": "mine:a", "": ""} {
		ended := async(func() error {
			_, err := s.conn.Acquire(t.Context(), "1", locks.Request{Keys: []string{key}})
			return err
		})
		r := s.request()
		if r.Key != want {
			t.Errorf("%q is requested as %q, want %q", key, r.Key, want)
		}
		s.say(fmt.Sprintf(`{"id":%d,"ok":true}`, r.ID))
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	s.end()
}

func TestConnNoise(t *testing.T) {
	s := newScript(t)
	s.say(helloLine)
	s.say("connected")
	s.say("connected again")
	s.say(`{"level":"info"}`)
	s.say(`{"id":77,"ok":true}`)
	s.say(`{"notice":"tired","session":"3.1"}`)
	s.say(helloLine)
	s.say(strings.Repeat("x", lineBytesMax+1))
	s.say(`{"notice":"lost","session":"3.1"}`)
	s.say(`{"notice":"queued","session":"3.2"}`)
	got := async(func() error { return s.conn.Check(t.Context(), "3.1") })
	s.say(fmt.Sprintf(`{"id":%d,"ok":true}`, s.request().ID))
	if err := <-got; err != nil {
		t.Errorf("after noise: %v", err)
	}
	s.say(`{"id":1,"ok":true}`) // a second answer
	s.end()
	if n := s.conn.Heard().Lines; n != 8 || len(s.noise) != 8 {
		t.Errorf("%d lines of noise, %d heard, want 8: %q", n, len(s.noise), s.noise)
	}
	if len(s.warns) != 5 { // text, id, notice, hello, long: once each
		t.Errorf("%d warnings: %s", len(s.warns), strings.Join(s.warns, "\n"))
	}
	if !strings.Contains(s.warns[0], `print to standard error instead: "connected"`) {
		t.Errorf("the first warning has no advice: %s", s.warns[0])
	}
	if len(s.lost) != 1 || s.lost[0] != "3.1" {
		t.Errorf("lost: %q", s.lost)
	}
	if len(s.queued) != 1 || s.queued[0] != "3.2" {
		t.Errorf("queued: %q", s.queued)
	}
}

func TestConnEndsDuringACall(t *testing.T) {
	s := newScript(t)
	got := async(func() error { return s.conn.Check(t.Context(), "3.1") })
	s.request()
	if err := s.conn.Err(); err != nil {
		t.Errorf("Err() = %v while the guest is there", err)
	}
	s.end()
	for _, err := range []error{<-got, s.conn.Check(t.Context(), "3.1"), s.conn.Err()} {
		if !errors.Is(err, ErrGone) || Definite(err) || !strings.Contains(err.Error(), "its output ended") {
			t.Errorf("err = %v", err)
		}
	}
	if err := s.conn.Close(t.Context()); err != nil {
		t.Errorf("Close of a guest that is gone: %v", err)
	}
}

// TestConnCut: an answer after the kill is ignored and does not count as noise.
func TestConnCut(t *testing.T) {
	s := newScript(t)
	got := async(func() error { return s.conn.Check(t.Context(), "3.1") })
	s.request()
	s.conn.Cut(errors.New("it was killed"))
	s.say(`{"id":1,"ok":true}`)
	for _, err := range []error{<-got, s.conn.Check(t.Context(), "3.1"), s.conn.Err()} {
		if !errors.Is(err, ErrGone) || Definite(err) || !strings.Contains(err.Error(), "it was killed") {
			t.Errorf("err = %v", err)
		}
	}
	if n := s.conn.Heard().Lines; n != 0 {
		t.Errorf("%d lines of noise", n)
	}
	s.end()
}

// An answer that came before the end counts.
func TestConnAnswerThenEnd(t *testing.T) {
	for range 100 {
		s := newScript(t)
		got := async(func() error { return s.conn.Check(t.Context(), "3.1") })
		s.request()
		s.say(`{"id":1,"ok":true}`)
		s.end()
		if err := <-got; err != nil {
			t.Fatalf("err = %v", err)
		}
	}
}

func TestConnLateAnswerIsNoNoise(t *testing.T) {
	s := newScript(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := async(func() error { return s.conn.Check(ctx, "3.1") })
	s.request()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) || Definite(err) {
		t.Errorf("err = %v", err)
	}
	if err := s.conn.Check(ctx, "3.1"); err == nil || !strings.Contains(err.Error(), "not sent") {
		t.Errorf("err = %v", err)
	}
	s.say(`{"id":1,"ok":true}`)
	s.end()
	if s.conn.Heard().Lines != 0 {
		t.Errorf("a late answer is noise: %q", s.noise)
	}
	if len(s.conn.late) != 0 || len(s.conn.pending) != 0 {
		t.Errorf("still remembered: %v %v", s.conn.late, s.conn.pending)
	}
}

// A paused guest reads nothing. Its pipe and then the queue fill up, and every caller ends with its own context.
func TestConnStuckGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 2 * requestsQueued {
			wg.Go(func() {
				if err := s.conn.Touch(ctx, "3.1"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("err = %v", err)
				}
			})
		}
		wg.Wait()
		if err := s.conn.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		s.end()
	})
}

func TestConnClose(t *testing.T) {
	s := newScript(t)
	got := async(func() error { return s.conn.Close(t.Context()) })
	if r := s.request(); r.Op != OpClose {
		t.Errorf("request %+v", r)
	}
	s.say(`{"id":1,"ok":true}`)
	if _, _, err := s.requests.next(); err != io.EOF {
		t.Errorf("the guest's input: %v, want EOF", err)
	}
	select {
	case err := <-got:
		t.Fatalf("Close did not wait for the end of the output: %v", err)
	default:
	}
	_ = s.out.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if err := s.conn.Err(); err == nil || !strings.Contains(err.Error(), "it was closed") {
		t.Errorf("Err() = %v", err)
	}
}

// A guest that ends instead of answering close is reported, and one that was gone before is not.
func TestConnDiesInClose(t *testing.T) {
	for _, before := range []bool{false, true} {
		s := newScript(t)
		if before {
			s.end()
		}
		got := async(func() error { return s.conn.Close(t.Context()) })
		if !before {
			s.request()
			s.end()
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		if died := s.conn.DiedInClose(); died == before {
			t.Errorf("gone before: %v, died in close: %v", before, died)
		}
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func FuzzConn(f *testing.F) {
	f.Add([]byte(helloLine + "\n{\"id\":1,\"ok\":true}\n{\"notice\":\"lost\",\"session\":\"1\"}\n"))
	f.Add([]byte("{\"id\":1,\"ok\":7}\n{\"id\":1e9}\nnull\n[]\n\"\xff\n{\"id\":1"))
	f.Fuzz(func(t *testing.T, out []byte) {
		c := NewConn(bytes.NewReader(out), nopCloser{io.Discard}, ConnOptions{
			Warn: func(string) {},
			Noise: func(line string) {
				if len(line) > quotedBytesMax+len("...") {
					t.Errorf("noise of %d bytes", len(line))
				}
			},
		})
		_ = c.Check(t.Context(), "3.1")
		<-c.ended
		if !errors.Is(c.Err(), ErrGone) {
			t.Errorf("Err() = %v", c.Err())
		}
	})
}

// A fast clock counts the wait for a lock too long, which must not delay the end of the lease. The end that a slow clock
// reports is not changed.
func TestUntilOfAWrongClock(t *testing.T) {
	for name, test := range map[string]struct{ gains, want time.Duration }{
		"right": {0, 10 * time.Second}, "fast": {6 * time.Second, 4 * time.Second},
		"very fast": {time.Minute, 0}, "slow": {-6 * time.Second, 10 * time.Second},
	} {
		s := newScript(t)
		var mu sync.Mutex
		gained := 5 * time.Second // gained earlier, so not relevant
		s.conn.o.Gained = func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return gained
		}
		for _, op := range []string{OpAcquire, OpRenew} {
			got := async(func() *time.Duration {
				if op == OpRenew {
					until, err := s.conn.Renew(t.Context(), "1.1", time.Second)
					if err != nil {
						t.Error(err)
					}
					return until
				}
				g, err := s.conn.Acquire(t.Context(), "1.1", locks.Request{Keys: []string{"a"}})
				if err != nil {
					t.Error(err)
				}
				return g.Until
			})
			r := s.request()
			mu.Lock()
			gained += test.gains
			mu.Unlock()
			s.say(fmt.Sprintf(`{"id":%d,"ok":true,"until_ns":10000000000}`, r.ID))
			if until := <-got; until == nil || *until != test.want {
				t.Errorf("%s, %s: %v, want %v", name, op, until, test.want)
			}
		}
		s.end()
	}
}

// TestSecretsAreMasked sends a secret in every text of a guest, once where texts are cut.
func TestSecretsAreMasked(t *testing.T) {
	const password = `hun"ter\2`
	line, _ := json.Marshal(password)
	leak := strings.Trim(string(line), `"`)
	s := newScript(t)
	s.conn.o.Mask = secret.New(password)
	clean := func(what, text string) {
		t.Helper()
		if strings.Contains(text, "hun") || !strings.Contains(text, secret.Hidden) {
			t.Errorf("%s is not masked: %s", what, text)
		}
	}
	s.say(`{"hello":"lockbench-guest/1","name":"` + leak + `","version":"` + leak + `","family":"control","` + leak + `":1}`)
	hello, err := s.conn.Hello(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clean("the name", hello.Name)
	clean("the version", hello.Version)
	clean("the unknown field", hello.Unknown)
	long := strings.Repeat("x", quotedBytesMax-4) + password // is cut after four letters
	s.say(long)
	for _, answer := range []string{
		`"unknown":"` + leak + `"`, `"fail":"taken","text":"` + leak + `"`, `"fail":"` + leak + `"`, `"ok":true,"unknown":"` + leak + `"`, `"ok":"` + leak + `"`,
	} {
		answered := async(func() error {
			_, err := s.conn.Acquire(t.Context(), "s", locks.Request{Keys: []string{"k"}})
			return err
		})
		s.say(fmt.Sprintf(`{"id":%d,%s}`, s.request().ID, answer))
		err := <-answered
		if err == nil {
			t.Fatalf("%s is no error", answer)
		}
		clean(answer, err.Error())
		if taken := strings.Contains(answer, "taken"); taken != errors.Is(err, locks.ErrTaken) {
			t.Errorf("%s is %v", answer, err)
		}
	}
	granted := async(func() Grant {
		g, _ := s.conn.Acquire(t.Context(), "s", locks.Request{Keys: []string{"k"}})
		return g
	})
	s.say(fmt.Sprintf(`{"id":%d,"ok":true,"nodes":["redis-1","%s"]}`, s.request().ID, leak))
	if nodes := (<-granted).Nodes; nodes[0] != "redis-1" || nodes[1] != secret.Hidden {
		t.Errorf("the nodes are %q", nodes)
	}
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.noise) < 3 || len(s.warns) < 2 {
		t.Errorf("%d lines and %d warnings were reported", len(s.noise), len(s.warns))
	}
	for _, text := range append(s.noise, s.warns...) {
		clean("a line outside the protocol", text)
	}
	clean("the first line", s.conn.Heard().First)
	clean("the advice", s.conn.Heard().Advice)
}

// TestHelloErrorIsMasked ends a guest of another version.
func TestHelloErrorIsMasked(t *testing.T) {
	s := newScript(t)
	s.conn.o.Mask = secret.New("hunter2")
	s.say(`{"hello":"lockbench-guest/0 hunter2"}`)
	if _, err := s.conn.Hello(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), secret.Hidden) {
		t.Errorf("the error is %v", err)
	}
	s.end()
}
