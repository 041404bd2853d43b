package guest

import (
	"context"
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

// endLimit is how long the end of a guest waits for calls that do not heed
// their context.
const endLimit = 2 * time.Second

// OpenFunc finds the lock that an open request asks for, and what it may know of
// its surroundings. [NewClient] gives the usual answer to the latter.
type OpenFunc = func(ctx context.Context, r Request) (locks.Opener, locks.Client, error)

// Serve is the guest's end of the protocol: it writes hello, then serves the
// requests that it reads, side by side, until r ends, close is
// asked for, or ctx ends. It closes the lock's handle but releases nothing: what a
// client held when its host went away ends as the lock itself provides. If ctx
// ends first, one goroutine stays behind in r.Read until that returns.
func Serve(ctx context.Context, r io.Reader, w io.Writer, hello Hello, open OpenFunc) error {
	return newServer(open, w, os.Stderr).serve(ctx, r, hello)
}

func newServer(open OpenFunc, w, log io.Writer) *server {
	return &server{open: open, w: w, log: log, sessions: newSessions(), writing: turn.New(), calls: make(chan call)}
}

// server serves one client.
type server struct {
	open     OpenFunc
	log      io.Writer // hears of panics
	sessions *sessions

	writing turn.Turn // to write a line, which may take long: a client that is stopped
	w       io.Writer

	mu     sync.Mutex
	opened bool // also while it is being opened
	closed bool
	ended  bool // and calls is closed
	locker locks.Locker

	end   context.CancelCauseFunc
	calls chan call // for a goroutine that has served one
	busy  sync.WaitGroup
}

// errClosed ends Serve in good order.
var errClosed = errors.New("closed by the host")

// input is a line of the host.
type input struct {
	line string
	cut  bool
	at   time.Time // when the line had been read
}

func (s *server) serve(ctx context.Context, r io.Reader, hello Hello) error {
	ctx, s.end = context.WithCancelCause(ctx)
	defer s.end(nil)
	hello.Hello = ProtocolVersion
	line, err := marshalLine(hello)
	if err == nil {
		err = s.write(line)
	}
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

// read takes the host's lines until there are no more, or the guest has ended.
func (s *server) read(ctx context.Context, l *lines) {
	for {
		line, cut, err := l.next()
		// Before anything else: a lease's end is told from here. Taken later, a
		// goroutine that had to wait for the processor would make leases look
		// shorter to the host than the client knows them to be.
		at := time.Now()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errClosed // a host that is gone wants no answer
			}
			s.end(err)
			return
		}
		if !s.begin(ctx, s.receive(input{line: string(line), cut: cut, at: at})) {
			return
		}
	}
}

// begin gives a request to a goroutine that has none, or to a new one; false: the guest
// has ended, and nothing begins.
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

// work serves requests, one after the other, beginning with c. A goroutine that has served
// one has the stack for the next: to let one grow costs more than the request itself where
// the guest is a module of WebAssembly.
func (s *server) work(ctx context.Context, c call) {
	for more := true; more; c, more = <-s.calls {
		s.handle(ctx, c)
	}
}

// finish closes the lock's handle, which often frees calls that stand, and waits
// for them.
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
		// An open that was under way has given us one more.
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

// call is a request on its way.
type call struct {
	Request
	read    time.Time
	bad     *Answer // what is wrong with it
	ask     locks.Request
	session *session // of an acquire, fresh
}

// receive does what must be done in the order of the lines: an acquire is known
// before the release that its impatient host sends behind it.
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
	var err error
	if c.Request, err = readRequest(i.line); err != nil {
		return refuse("the line is no request: %v: %s", err, quoted([]byte(i.line)))
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

// handle serves one request. After a grant it stays for the watch.
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

// answer does what is asked for. A lock that panics has not said what happened.
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
	err := fmt.Errorf("the lock panicked in %s: %v", op, p)
	if at := panicPlace(); op == OpOpen && at != "" {
		// It ends a run before anything else can be told, so it has to lead to the mistake.
		err = fmt.Errorf("%w, at %s", err, at)
	}
	return err
}

// panicPlace is the line that panicked, for a deferred function that has recovered.
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

// say sends an answer or a notice.
func (s *server) say(a Answer) error {
	line, err := a.marshalLine()
	if err != nil {
		return err
	}
	return s.write(line)
}

// write sends one line, whole.
func (s *server) write(line []byte) error {
	_ = s.writing.Take(context.Background()) // which does not end
	defer s.writing.Give()
	_, err := s.w.Write(line)
	return err
}

// outcome is the answer to an operation that tells nothing but how it ended.
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
	return Answer{Unknown: text}
}

func badRequest(format string, args ...any) Answer {
	return Answer{Fail: FailBadRequest, Text: fmt.Sprintf(format, args...)}
}
