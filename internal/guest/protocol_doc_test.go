package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/locks"
)

// The tests below replay the transcript of docs/guest-protocol.md against both ends and run its smallest guest.

const page = "../../docs/guest-protocol.md"

// block returns the content of the page's first code block in a language.
func block(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```"+language+"\n")
	body, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return body
}

type spoken struct {
	byGuest bool
	line    string
}

func transcript(t *testing.T) (said []spoken) {
	t.Helper()
	for line := range strings.Lines(block(t, "transcript")) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "> "), strings.HasPrefix(line, "< "):
			said = append(said, spoken{line[0] == '<', line[2:]})
		default:
			t.Fatalf("%s: a line of the transcript without a speaker: %s", page, line)
		}
	}
	if len(said) < 10 {
		t.Fatalf("the transcript has %d lines", len(said))
	}
	return said
}

// No field of the transcript is unknown to the messages.
func TestTranscriptFields(t *testing.T) {
	for i, s := range transcript(t) {
		var m any = &Request{}
		switch {
		case i == 0:
			m = &Hello{}
		case s.byGuest:
			m = &Answer{}
		}
		d := json.NewDecoder(strings.NewReader(s.line))
		d.DisallowUnknownFields()
		if err := d.Decode(m); err != nil {
			t.Errorf("%s: %v", s.line, err)
		}
	}
}

// Serve, given the host's lines, says the guest's lines.
func TestTranscriptServe(t *testing.T) {
	said := transcript(t)
	var hello Hello
	if err := json.Unmarshal([]byte(said[0].line), &hello); err != nil {
		t.Fatal(err)
	}
	lock := fakeLocker{acquire: func(_ context.Context, r locks.Request) (locks.Lease, error) {
		l := bounded(r.TTL)
		switch r.Keys[0] {
		case "b":
			return nil, locks.ErrTaken
		case "c":
			l.release = func(context.Context) error { return locks.ErrUnconfirmed }
			return l, errors.New("read tcp 127.20.4.65:7000: i/o timeout")
		}
		return l, nil
	}}
	synctest.Test(t, func(t *testing.T) { // time stops while all goroutines wait
		k := serveBare(t, hello, Always(lock.open), os.Stderr)
		for _, s := range said {
			if s.byGuest {
				k.expect(s.line)
			} else {
				k.say(s.line)
			}
		}
		if err := k.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestTranscriptConn: Conn sends the host's lines and understands the guest's lines.
func TestTranscriptConn(t *testing.T) {
	said := transcript(t)
	s := newScript(t)
	s.say(said[0].line)
	if h, err := s.conn.Hello(t.Context()); err != nil || !h.Claims.Bounded || h.Version != "1.2" {
		t.Errorf("Hello() = %+v, %v", h, err)
	}
	for i := 1; i+1 < len(said); i += 2 {
		ask, answer := said[i].line, said[i+1].line
		var r Request
		if err := json.Unmarshal([]byte(ask), &r); err != nil {
			t.Fatal(err)
		}
		got := async(func() error { return perform(t.Context(), s.conn, r) })
		line, _, err := s.requests.next()
		if err != nil {
			t.Fatal(err)
		}
		if string(line) != ask {
			t.Errorf("the host said\n     %s\nwant %s", line, ask)
		}
		s.say(answer)
		if r.Op == OpClose {
			s.end()
		}
		a, err := mustAnswer(t, []byte(answer)), <-got
		if a.OK != (err == nil) || a.Done != errors.Is(err, locks.ErrUnconfirmed) || (a.Fail != "") != Definite(err) {
			t.Errorf("%s was understood as %v", answer, err)
		}
	}
	if s.conn.Heard().Lines != 0 {
		t.Errorf("the transcript has noise: %q", s.noise)
	}
}

func perform(ctx context.Context, c *Conn, r Request) (err error) {
	switch r.Op {
	case OpOpen:
		err = c.Open(ctx, r)
	case OpAcquire:
		_, err = c.Acquire(ctx, r.Session, locks.Request{Keys: []string{r.Key}, TTL: time.Duration(r.TTL)})
	case OpCheck:
		err = c.Check(ctx, r.Session)
	case OpTouch:
		err = c.Touch(ctx, r.Session)
	case OpRenew:
		_, err = c.Renew(ctx, r.Session, time.Duration(r.TTL))
	case OpRelease:
		err = c.Release(ctx, r.Session)
	case OpClose:
		err = c.Close(ctx)
	}
	return err
}

// The page lists every value of fail with its operations.
func TestPageListsFails(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fails {
		ops := "every `op`"
		if f.word != FailBadRequest {
			ops = "`" + strings.Join(f.ops, "`, `") + "`"
		}
		if row := "| `\"fail\":\"" + f.word + "\"` | " + ops + " | yes |"; !bytes.Contains(text, []byte(row)) {
			t.Errorf("%s lacks the row %s", page, row)
		}
	}
}

func TestSmallestGuest(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on the PATH")
	}
	ctx := t.Context()
	cmd := exec.CommandContext(ctx, python, "-c", block(t, "python"))
	conn := startGuest(t, cmd)
	if h, err := conn.Hello(ctx); err != nil || h.Name != "grants-all" {
		t.Fatalf("Hello() = %+v, %v", h, err)
	}
	if err := conn.Open(ctx, Request{}); err != nil {
		t.Error(err)
	}
	for _, session := range []string{"3.1", "3.2"} {
		if _, err := conn.Acquire(ctx, session, locks.Request{Keys: []string{"a"}}); err != nil {
			t.Error(err)
		}
	}
	if _, err := conn.Renew(ctx, "3.1", time.Second); !errors.Is(err, locks.ErrUnsupported) {
		t.Errorf("renew: %v", err)
	}
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
}

// startGuest runs a guest until the test ends.
func startGuest(t *testing.T, cmd *exec.Cmd) *Conn {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn := NewConn(out, in, ConnOptions{
		Noise: func(line string) { t.Errorf("noise: %s", line) },
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-conn.ended // Wait closes the pipe, so the output is read first
		_ = cmd.Wait()
	})
	return conn
}
