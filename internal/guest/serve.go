package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"lockbench/internal/turn"
	"lockbench/locks"
)

// endLimit is how long the end of a guest waits for calls that ignore their context.
const endLimit = 2 * time.Second

// OpenFunc returns the opener and the client for an open request. [NewClient] returns the usual client.
type OpenFunc = func(ctx context.Context, r Request) (locks.Opener, locks.Client, error)

// Serve is the guest's end of the protocol. It writes the hello and serves requests concurrently until r ends, the host
// sends close, or ctx ends. It closes the lock's handle but releases nothing: the locks of a vanished host end in the
// lock's own way. If ctx ends first, one goroutine remains in r.Read.
func Serve(ctx context.Context, r io.Reader, w io.Writer, hello Hello, open OpenFunc) error {
	return newServer(open, w, os.Stderr).serve(ctx, r, hello)
}

func newServer(open OpenFunc, w, log io.Writer) *server {
	return &server{open: open, w: w, log: log, sessions: newSessions(), writing: turn.New(), calls: make(chan call)}
}

// server serves one client.
type server struct {
	open     OpenFunc
	log      io.Writer // receives panics
	sessions *sessions

	writing turn.Turn // for writing a line, which blocks while a client is paused
	w       io.Writer

	mu     sync.Mutex
	opened bool // also true during open
	closed bool
	ended  bool // calls is closed
	locker locks.Locker

	end   context.CancelCauseFunc
	calls chan call // for idle goroutines
	busy  sync.WaitGroup
}

// errClosed ends Serve without an error.
var errClosed = errors.New("closed by the host")

// input is a line of the host.
type input struct {
	line []byte
	cut  bool
	at   time.Time // when the line was read
}

func (s *server) serve(ctx context.Context, r io.Reader, hello Hello) error {
	ctx, s.end = context.WithCancelCause(ctx)
	defer s.end(nil)
	hello.Hello = ProtocolVersion
	err := s.say(hello)
	if err != nil {
		return fmt.Errorf("write hello: %w", err)
	}
	go s.read(ctx, newLines(r))
	<-ctx.Done()
	if err = context.Cause(ctx); errors.Is(err, errClosed) {
		err = nil
	}
	return errors.Join(err, s.finish())
}

// read reads the host's lines until the input or the guest ends.
func (s *server) read(ctx context.Context, l *lines) {
	for {
		line, cut, err := l.next()
		// The end of a lease counts from here. If at were taken by a goroutine that first had to wait for the processor,
		// leases would look shorter to the host than to the client.
		at := time.Now()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errClosed // a host that is gone needs no answer
			}
			s.end(err)
			return
		}
		if !s.begin(ctx, s.receive(input{line, cut, at})) {
			return
		}
	}
}

// begin passes a request to an idle goroutine or to a new one. It returns false if the guest has ended.
func (s *server) begin(ctx context.Context, c call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	select {
	case s.calls <- c:
	default:
		s.busy.Go(func() { s.work(ctx, c) })
	}
	return true
}

// work serves requests, beginning with c. Reusing a goroutine reuses its stack; in a WASM guest, growing a stack costs
// more than the request itself.
func (s *server) work(ctx context.Context, c call) {
	for more := true; more; c, more = <-s.calls {
		s.handle(ctx, c)
	}
}

// finish closes the lock's handle, which often unblocks calls, and waits for the calls.
func (s *server) finish() error {
	s.mu.Lock()
	s.ended = true
	close(s.calls)
	s.mu.Unlock()
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = s.closeLocker()
		s.busy.Wait()
		// A concurrent open has added another handle.
		err = errors.Join(err, s.closeLocker())
	}()
	limit := time.NewTimer(endLimit)
	defer limit.Stop()
	select {
	case <-done:
		return err
	case <-limit.C:
		return fmt.Errorf("end the guest: calls of the lock went on %v after their context had ended", endLimit)
	}
}

func (s *server) closeLocker() (err error) {
	s.mu.Lock()
	locker := s.locker
	s.locker, s.closed = nil, true
	s.mu.Unlock()
	if locker == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked("close", p)
		}
	}()
	if err := locker.Close(); err != nil {
		return fmt.Errorf("close the lock: %w", err)
	}
	return nil
}

// call is a request that is being served.
type call struct {
	Request
	read    time.Time
	bad     *Answer // the answer to an invalid request
	ask     locks.Request
	session *session // the new session of an acquire
}

// receive does the part that depends on the order of lines: an acquire is registered before the release that an impatient
// host sends after it.
func (s *server) receive(i input) call {
	c := call{read: i.at}
	refuse := func(format string, args ...any) call {
		a := badRequest(format, args...)
		c.bad = &a
		return c
	}
	if i.cut {
		return refuse("the line is longer than %d bytes", lineBytesMax)
	}
	err := json.Unmarshal(i.line, &c.Request)
	if err != nil {
		return refuse("the line is not a request: %v: %s", err, quoted(i.line))
	}
	if c.Op != OpAcquire {
		return c
	}
	if c.ask, err = requestOf(c.Request); err != nil {
		return refuse("%v", err)
	}
	if c.session = s.sessions.begin(c.Session); c.session == nil {
		return refuse("session %q was used before; every acquire has a session of its own", c.Session)
	}
	return c
}

// handle serves one request. After a grant it watches for the loss of the lock.
func (s *server) handle(ctx context.Context, c call) {
	a := s.answer(ctx, c)
	a.ID = c.ID
	if err := s.say(a); err != nil {
		s.end(fmt.Errorf("write an answer: %w", err))
	}
	switch {
	case c.Op == OpAcquire && a.OK:
		s.watch(ctx, c.Session)
	case c.Op == OpClose && a.Fail == "":
		s.end(errClosed)
	}
}

// Panicked begins the text of an answer if the lock panicked in the operation.
const Panicked = "the lock panicked in "

// answer executes a request. If the lock panics, the outcome is unknown.
func (s *server) answer(ctx context.Context, c call) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = Answer{Unknown: s.panicked(c.Op, p).Error()}
		}
	}()
	if c.bad != nil {
		return *c.bad
	}
	switch c.Op {
	case OpOpen:
		return s.doOpen(ctx, c.Request)
	case OpAcquire:
		return s.acquire(ctx, c)
	case OpCheck:
		return s.check(c.Request)
	case OpTouch:
		return s.touch(c.Request)
	case OpRenew:
		return s.renew(ctx, c)
	case OpRelease:
		return s.release(ctx, c.Request)
	case OpClose:
		return outcome(OpClose, s.closeLocker())
	}
	return badRequest("operation %q is not known", c.Op)
}

func (s *server) panicked(op string, p any) error {
	fmt.Fprintf(s.log, "the lock panicked in %s: %v\n%s", op, p, debug.Stack())
	err := fmt.Errorf(Panicked+"%s: %v", op, p)
	if at := panicPlace(); op == OpOpen && at != "" {
		// The panic ends the run, so the message contains its place.
		err = fmt.Errorf("%w, at %s", err, at)
	}
	return err
}

// panicPlace returns the line that panicked. It is for deferred functions that have recovered.
func panicPlace() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for below, more := false, true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch inRuntime := strings.HasPrefix(f.Function, "runtime."); {
		case inRuntime:
			below = true
		case below:
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}

func (s *server) doOpen(ctx context.Context, r Request) Answer {
	s.mu.Lock()
	again := s.opened
	s.opened = true
	s.mu.Unlock()
	if again {
		return badRequest("this guest was opened before; one guest is one client")
	}
	opener, client, err := s.open(ctx, r)
	if err != nil {
		return outcome(OpOpen, err)
	}
	locker, err := opener(ctx, client)
	if err != nil {
		return outcome(OpOpen, err)
	}
	s.mu.Lock()
	s.locker = locker
	s.mu.Unlock()
	return Answer{OK: true}
}

// say writes a hello, an answer or a notice as one line.
func (s *server) say(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_ = s.writing.Take(context.Background()) // this context does not end
	defer s.writing.Give()
	_, err = s.w.Write(append(line, '\n'))
	return err
}

// outcome returns the answer to an operation without a result.
func outcome(op string, err error) Answer {
	if err == nil {
		return Answer{OK: true}
	}
	text := err.Error()
	if text == "" {
		text = fmt.Sprintf("%T", err)
	}
	if word, ok := failOf(op, err); ok {
		return Answer{Fail: word, Text: text}
	}
	if mayBeDone(op) && errors.Is(err, locks.ErrUnconfirmed) {
		return Answer{Done: true}
	}
	return Answer{Unknown: text}
}

func badRequest(format string, args ...any) Answer {
	return Answer{Fail: FailBadRequest, Text: fmt.Sprintf(format, args...)}
}
