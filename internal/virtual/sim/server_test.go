package sim

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// slate is a lock service of nothing but a network: the server board-1 writes down what
// clients and its twin board-2 say, a line each as Redis reads them too, and repeats it; the server desk-1 is a
// directory that knows the address of board-1.
type slate struct {
	host    *Host
	servers []Server
	named   []service.Node
	addr    []string
	desk    *desk
	opened  int
}

func (s *slate) About() string  { return "slates" }
func (s *slate) Covers() string { return "slates" }

func (s *slate) New(h *Host, _ world.Spec) (Service, error) {
	s.host = h
	s.named = []service.Node{{Name: "board-1", Role: service.Data}, {Name: "board-2", Role: service.Data}, {Name: "desk-1", Role: service.Witness}}
	s.desk = &desk{board{slate: s}}
	s.servers = []Server{&board{slate: s}, &board{slate: s}, struct {
		Server
		Directory
	}{s.desk, s.desk}}
	for i := range s.servers {
		s.addr = append(s.addr, h.Address(0, i, 7))
	}
	return s, nil
}

func (s *slate) Purpose(string) (Purpose, bool) { return Operation, false }

func (s *slate) Nodes() []service.Node                  { return s.named }
func (s *slate) Topology() service.Topology             { return service.Topology{Name: locks.Single} }
func (s *slate) Leader(context.Context) (string, error) { return "board-1", nil }
func (s *slate) Leaders(context.Context) []string       { return []string{"board-1"} }
func (s *slate) Healthy(context.Context) error          { return nil }
func (s *slate) Abilities() service.Abilities           { return service.Abilities{} }
func (s *slate) Processes() []Server                    { return s.servers }
func (s *slate) Store() locks.Store                     { return locks.Store{Topology: locks.Single} }
func (s *slate) Opened(world.ClientSpec)                { s.opened++ }

// board is a server that stores the lines that it receives.
type board struct {
	slate *slate

	mu      sync.Mutex
	lines   []string // lines of clients and of the other board
	starts  []bool   // for each start, whether it had its data
	ticks   []time.Time
	resumed int
	off     time.Duration
	left    int // of a directory
}

// as calls a function with a server that is not in use.
func (b *board) as(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

func (b *board) write(line string) { b.as(func() { b.lines = append(b.lines, line) }) }

func (b *board) last() (line string) {
	b.as(func() {
		if len(b.lines) > 0 {
			line = b.lines[len(b.lines)-1]
		}
	})
	return line
}

func (b *board) LosePower() string { return "lost nothing" }

func (b *board) Start(keepData bool) {
	b.as(func() { b.starts = append(b.starts, keepData) })
}
func (b *board) End()                                   {}
func (b *board) Resumed()                               { b.as(func() { b.resumed++ }) }
func (b *board) Ticks() (least, most time.Duration)     { return time.Second, 2 * time.Second }
func (b *board) Tick()                                  { b.as(func() { b.ticks = append(b.ticks, time.Now()) }) }
func (b *board) Hear(_ int, what any)                   { b.write(what.(string)) }
func (b *board) ShiftClock(by time.Duration, _ float64) { b.as(func() { b.off = by }) }

func (b *board) AtOnce(_ Line, written []byte) ([]byte, bool) {
	return []byte("welcome\n"), string(written) == "hello\n"
}

func (b *board) Serve(c net.Conn, _ Line) {
	go func() {
		defer c.Close() //nolint:errcheck // the client may be gone
		for said := bufio.NewScanner(c); said.Scan(); {
			b.write(said.Text())
			if _, err := c.Write(append(said.Bytes(), '\n')); err != nil {
				return
			}
		}
	}()
}

// desk is a directory.
type desk struct{ board }

func (d *desk) Left(Line) { d.as(func() { d.left++ }) }

func (d *desk) Asked(l Line, written []byte) { l.Send([]byte("later " + string(written))) }

func (d *desk) AtOnce(l Line, written []byte) ([]byte, bool) {
	switch {
	case string(written) != "where\n":
		return nil, false
	case !l.Reachable():
		return nil, true
	}
	return []byte(d.slate.addr[0] + "\n"), true
}

// caller is a client that sends single lines.
type caller struct {
	t *testing.T
	world.Client
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

func call(t *testing.T, c *cluster, id int) *caller {
	k := &caller{t: t}
	client, err := c.Open(context.Background(), world.ClientSpec{ID: id, Opener: func(_ context.Context, known locks.Client) (locks.Locker, error) {
		k.dial = known.Store.Dial
		return nil, nil
	}})
	if err != nil {
		t.Error(err)
	}
	k.Client = client
	return k
}

func (k *caller) to(addr string) net.Conn {
	conn, err := k.dial(context.Background(), "tcp", addr)
	if err != nil {
		k.t.Errorf("dial %s: %v", addr, err)
	}
	return conn
}

// ask sends a line and returns the answer within half a second, or the error.
func ask(c net.Conn, line string) string {
	if _, err := c.Write([]byte(line + "\n")); err != nil {
		return err.Error()
	}
	return hear(c)
}

func hear(c net.Conn) string {
	_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	b := make([]byte, 100)
	n, err := c.Read(b)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(string(b[:n]), "\n")
}

// The network treats all services alike.
func TestServers(t *testing.T) {
	s := &slate{}
	err := New(Options{Models: Models{redis.Name: s}}).Run(t.Context(), redistest.Spec(locks.Single, world.Spec{Seed: 1}), func(ctx context.Context, w world.Cluster) error {
		c := w.(*cluster)
		one, two, k := s.servers[0].(*board), s.servers[1].(*board), call(t, c, 1)
		wants := func(what, got, want string) {
			t.Helper()
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		if s.opened != 1 {
			t.Errorf("the service has heard of %d clients that were opened", s.opened)
		}

		// A connection is counted, greeted at once, and held.
		conn := k.to(s.addr[0])
		began := time.Now()
		wants("a greeting", ask(conn, "hello"), "welcome")
		if d := time.Since(began); d != 0 {
			t.Errorf("a greeting took %v", d)
		}
		wants("a request", ask(conn, "one 1"), "one 1")
		reply := c.Requests("client-1").HoldReply(1)
		wants("a request that is held", ask(conn, "two 2"), "timeout")
		<-reply.Reached()
		reply.GoOn()
		wants("what was held", hear(conn), "two 2")
		if got := c.Requests("client-1").Counts(); got["HELLO"] != 1 || got["ONE"] != 1 || got["TWO"] != 1 {
			t.Errorf("counted %v", got)
		}

		// The link between two servers, and a cut of it.
		link := []world.Link{{From: "board-1", To: "board-2"}}
		_ = c.SetLinks(ctx, link, world.LinkState{Cut: true})
		s.host.Send(0, 1, "from the other")
		time.Sleep(time.Second)
		if got := two.last(); got != "" {
			t.Errorf("over a cut link came %q", got)
		}
		_ = c.SetLinks(ctx, link, world.LinkState{})
		time.Sleep(time.Second)
		if got := two.last(); got != "from the other" {
			t.Errorf("after the heal: %q", got)
		}

		// A paused server, and one that its service stalls, do nothing and have no ticks until they continue.
		var before, after, resumed int
		one.as(func() { before = len(one.ticks) })
		_ = c.PauseNode(ctx, "board-1")
		wants("a paused server", ask(conn, "three"), "timeout")
		time.Sleep(10 * time.Second)
		_ = c.ResumeNode(ctx, "board-1")
		wants("after the pause", hear(conn), "three")
		one.as(func() { after, resumed = len(one.ticks), one.resumed })
		if resumed != 1 || after != before {
			t.Errorf("resumed %d times, %d ticks meanwhile", resumed, after-before)
		}
		s.host.Stall(0, time.Second)
		wants("a stalled server", ask(conn, "four"), "timeout")
		time.Sleep(time.Second)
		wants("after the stall", hear(conn), "four")

		// A killed server ends its connections, does not answer, and returns without its data.
		_ = c.Kill(ctx, "board-1")
		wants("a killed server", ask(conn, "five"), "EOF")
		if _, err := k.dial(ctx, "tcp", s.addr[0]); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial a dead server: %v", err)
		}
		_ = c.Start(ctx, "board-1", true)
		one.as(func() {
			if !slices.Equal(one.starts, []bool{false, true}) {
				t.Errorf("started with its data: %v", one.starts)
			}
		})

		// An address that moves.
		float := s.host.Float(7)
		s.host.Move(float, 1)
		wants("through an address that moves", ask(k.to(float), "to the second"), "to the second")
		if got := two.last(); got != "to the second" {
			t.Errorf("the second server heard %q last", got)
		}
		if n := s.host.HangUp(1); n != 1 {
			t.Errorf("hung up %d connections of one", n)
		}
		_ = c.ShiftClock(ctx, "board-2", time.Hour, 0)

		// Ticks are a second or two apart, each at a time of its own.
		two.mu.Lock()
		defer two.mu.Unlock()
		if two.off != time.Hour {
			t.Errorf("its clock is wrong by %v", two.off)
		}
		for i, at := range two.ticks {
			if class(at.UnixNano()%int64(grain)) != classNodes+1 {
				t.Errorf("a tick in an instant of class %d", at.UnixNano()%int64(grain))
			}
			if i > 0 && (at.Sub(two.ticks[i-1]) < time.Second || at.Sub(two.ticks[i-1]) > 2*time.Second+grain) {
				t.Errorf("ticks %v apart", at.Sub(two.ticks[i-1]))
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A directory answers at once, or not at all.
func TestDirectory(t *testing.T) {
	s := &slate{}
	err := New(Options{Models: Models{redis.Name: s}}).Run(t.Context(), redistest.Spec(locks.Single, world.Spec{Seed: 1}), func(ctx context.Context, w world.Cluster) error {
		c := w.(*cluster)
		k := call(t, c, 1)
		conn, desk := k.to(s.addr[2]), s.desk
		began := time.Now()
		if got := ask(conn, "where"); got != s.addr[0] || time.Since(began) != 0 {
			t.Errorf("the way is %q, after %v", got, time.Since(began))
		}
		if got := ask(conn, "news"); got != "later news" || time.Since(began) == 0 {
			t.Errorf("an ordinary request: %q, after %v", got, time.Since(began))
		}
		_ = c.SetLinks(ctx, []world.Link{{From: "desk-1", To: "client-1"}}, world.LinkState{Cut: true})
		if got := ask(conn, "where"); !strings.Contains(got, "no route") {
			t.Errorf("over a cut link: %q", got)
		}
		if _, err := k.dial(ctx, "tcp", s.addr[2]); !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Errorf("dial over a cut link: %v", err)
		}
		_ = c.SetLinks(ctx, []world.Link{{From: "desk-1", To: "client-1"}}, world.LinkState{})
		_ = k.Kill(ctx)
		time.Sleep(time.Second)
		desk.as(func() {
			if desk.left != 1 {
				t.Errorf("a client that was killed has left %d times", desk.left)
			}
		})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A server's unsupported request ends the run with an error, and so does a world without a model.
func TestFaultIsLoud(t *testing.T) {
	s := &slate{}
	spec := redistest.Spec(locks.Single, world.Spec{Seed: 1})
	err := New(Options{Models: Models{redis.Name: s}}).Run(t.Context(), spec, func(ctx context.Context, _ world.Cluster) error {
		s.host.Fault("board-%d was asked for a poem", 1)
		<-ctx.Done()
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "board-1 was asked for a poem") {
		t.Errorf("the run ended with %v", err)
	}
	if err := New(Options{}).Run(t.Context(), spec, nil); err == nil {
		t.Error("a simulation without a lock service has run")
	}
}

// The model reports before a run which faults its servers do not support.
func TestSketchAsksTheModel(t *testing.T) {
	spec := redistest.Spec(locks.Single, world.Spec{})
	if world.NewSketch(spec).Abilities().Orders[service.OrderFlush] == nil {
		t.Fatal("the servers themselves cannot be flushed; this test needs another ability")
	}
	sketch := New(Options{Models: Models{redis.Name: &slate{}}}).Sketch(spec)
	if sketch.Abilities().Orders[service.OrderFlush] != nil {
		t.Error("the sketch can be flushed, and the model cannot")
	}
	if named := sketch.Nodes(); len(named) != 3 || named[0].Name != "board-1" {
		t.Errorf("the nodes of the sketch are %+v", named)
	}
	if named := New(Options{}).Sketch(spec).Nodes(); len(named) != 1 {
		t.Errorf("without a model the nodes are %+v, want those of the service", named)
	}
}
