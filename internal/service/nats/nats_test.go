package nats

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

func TestService(t *testing.T) {
	servicetest.Suite{
		Service: Service,
		Versions: map[string]servicetest.Version{
			"nats-server: v2.12.15":    {Text: "2.12.15", Enough: true},
			"nats-server: v2.11.0-dev": {Text: "2.11.0-dev", Enough: true},
			"nats-server: v2.9.10":     {Text: "2.9.10"},
			"nats-server: v3.0.0":      {Text: "3.0.0", Enough: true},
			"nats-server: v1.12.0":     {Text: "1.12.0"},
			"etcd Version: 3.6.16":     {},
		},
		URLs: []servicetest.Located{
			{URLs: "nats://a", Addrs: "a:4222", Topology: "1 nats"},
			{URLs: "natss://a,b:1,[::1]:2", Addrs: "a:4222 b:1 [::1]:2", Topology: "nats quorum of 3", TLS: true},
			{URLs: "tls://a tls://b", Addrs: "a:4222 b:4222", Topology: "nats quorum of 2", TLS: true},
			{URLs: "nats://a natss://b", Refused: "use the same scheme"},
			{URLs: "nats://a,a:4222", Refused: "named twice"},
			{URLs: "nats://a/x", Refused: "/x cannot be used"},
			{URLs: "nats+ring://a", Refused: "named as nats://HOST:PORT"},
			{URLs: "nats://u:p@a", Refused: "a password in a URL"},
		},
		Settings: servicetest.Settings{
			Topology: Quorum, Trusted: servicetest.Decided(Service),
			Line: func(_ service.Node, name, value string) string { // settings of a block have its name before a dot
				if _, key, nested := strings.Cut(name, "."); nested {
					return "\t" + key + ": " + value
				}
				return name + ": " + value
			},
		},
	}.Run(t)
}

// Each server gets its own addresses for the other servers.
func TestProgram(t *testing.T) {
	p := Service.Program(servicetest.Place(Service, Quorum, "nats-1", map[string]string{"jetstream.sync_interval": "always", "max_payload": "1KB"}))
	if !slices.Equal(p.Args, []string{"-c", "/config/nats.conf"}) {
		t.Errorf("it is run with %v", p.Args)
	}
	text := p.Files["/config/nats.conf"]
	for _, want := range []string{
		"server_name: nats-1\n", "listen: 127.0.0.1:7000\n", "\tlisten: 127.0.0.1:7001\n", "\tstore_dir: \"/config/data\"\n",
		"\troutes: [\"nats://127.0.0.66:7001\", \"nats://127.0.0.67:7001\"]\n", "\tadvertise: 127.0.0.65:7001\n",
		"jetstream {\n", "\tsync_interval: always\n", "\nmax_payload: 1KB\n", "\tmax_file: 256MB\n",
	} {
		if !strings.Contains("\n"+text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	alone := servicetest.Place(Service, locks.Single, "nats-1", nil)
	if text := Service.Program(alone).Files["/config/nats.conf"]; strings.Contains(text, "cluster") {
		t.Errorf("a single server is one of several:\n%s", text)
	}
}

// fake is the first ports of three servers.
type fake struct {
	servicetest.Host
	nodes map[string]*node
	asked []string
}

type node struct {
	about   info // without its names
	meta    string
	buckets map[string]string // leaders as this one sees them
	has     string            // the key that each bucket has; only one of those that there are
	sick    string
	behind  bool // as this one sees a replica
	refuses bool // new connections
}

func newFake(t *testing.T, of locks.Topology) (*fake, *servers) {
	f := &fake{nodes: map[string]*node{}}
	topology, _ := service.Find(Service, of)
	for _, n := range topology.Nodes() {
		f.nodes[n.Name] = &node{meta: "nats-1", buckets: map[string]string{"KV_locks": "nats-2"}}
		f.Serve(t, n.Name, func(c net.Conn) { f.serve(n.Name, c) })
	}
	return f, Service.Open(topology, f).(*servers)
}

// serve talks to one client. Like a real server, it also asks the client for a sign of life.
func (f *fake) serve(name string, c net.Conn) {
	f.Mu.Lock()
	about := f.nodes[name].about
	about.ID = cmp.Or(about.ID, "ID-"+name)
	f.Mu.Unlock()
	said, _ := json.Marshal(struct {
		info
		Name    string `json:"server_name"`
		Headers bool   `json:"headers"`
		Max     int    `json:"max_payload"`
	}{about, name, true, 1 << 20})
	fmt.Fprintf(c, "INFO %s\r\n", said)
	lines := bufio.NewReader(c)
	account := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		switch words[0] {
		case "CONNECT":
			var hello struct{ User string }
			_ = json.Unmarshal([]byte(words[1]), &hello)
			account = hello.User
			f.set(func(one, _, _ *node) {
				if one.refuses {
					fmt.Fprint(c, "-ERR 'Authorization Violation'\r\n")
				}
			})
		case "PING":
			fmt.Fprint(c, "PONG\r\nPING\r\n")
		case "PUB":
			size := 0
			_, _ = fmt.Sscan(words[len(words)-1], &size)
			body := make([]byte, size+2)
			if _, err := io.ReadFull(lines, body); err != nil {
				return
			}
			if len(words) == 3 { // no responders: the message goes back to the requester
				fmt.Fprintf(c, "MSG %s 1 %d\r\n%s", words[1], size, body)
				continue
			}
			if said := f.answer(name, account, words[1], string(body[:size])); said == nil {
				const none = "NATS/1.0 503\r\n\r\n"
				fmt.Fprintf(c, "HMSG %s 1 %d %d\r\n%s\r\n", words[2], len(none), len(none), none)
			} else {
				text, _ := json.Marshal(said)
				fmt.Fprintf(c, "MSG %s 1 %d\r\n%s\r\n", words[2], len(text), text)
			}
		}
	}
}

func (f *fake) answer(name, account, subject, body string) any {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	n := f.nodes[name]
	prefix := "$SYS.REQ.SERVER.ID-" + name + "."
	data := func(v any) any { return map[string]any{"data": v} }
	switch {
	case subject == prefix+"JSZ" && account == operators:
		var streams []any
		for stream, leader := range n.buckets {
			var others []any // as the leader sees them
			for other := range f.nodes {
				if f.nodes[other].buckets[stream] != "" && other != name {
					others = append(others, map[string]any{"name": other})
				}
			}
			streams = append(streams, map[string]any{"name": stream, "cluster": map[string]any{"leader": leader, "replicas": others}})
		}
		return data(map[string]any{"meta_cluster": map[string]string{"leader": n.meta}, "account_details": []any{map[string]any{"stream_detail": streams}}})
	case subject == prefix+"HEALTHZ" && account == operators:
		if n.sick != "" {
			return data(map[string]string{"status": "unavailable", "error": n.sick})
		}
		return data(map[string]string{"status": "ok"})
	case strings.HasPrefix(subject, "$JS.API.STREAM.INFO.") && account == clients:
		bucket := strings.TrimPrefix(subject, "$JS.API.STREAM.INFO.KV_")
		key := "$KV." + bucket + "." + n.has
		if strings.Contains(body, `"`+key+`"`) && bucket == "other" {
			return map[string]any{"state": map[string]any{"subjects": map[string]int{key: 1}}}
		}
		return map[string]any{"state": map[string]any{}}
	case account == "":
		return f.answerUser(n, subject, body)
	case strings.Contains(subject, ".LEADER.STEPDOWN"):
		f.asked = append(f.asked, account+" "+subject+" "+body)
		for _, other := range f.nodes {
			if subject == "$JS.API.META.LEADER.STEPDOWN" {
				other.meta = "nats-3"
			} else {
				other.buckets["KV_locks"] = "nats-3"
			}
		}
		return map[string]any{"success": true}
	}
	return nil
}

// set changes the answers of the servers.
func (f *fake) set(change func(one, two, three *node)) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	change(f.nodes["nats-1"], f.nodes["nats-2"], f.nodes["nats-3"])
}

// led changes the leader of the bucket as each server sees it.
func (f *fake) led(by ...string) {
	f.each(func(i int, n *node) { n.buckets["KV_locks"] = by[i] })
}

// each changes the answers of all servers of a group.
func (f *fake) each(change func(i int, n *node)) {
	f.set(func(one, two, three *node) {
		for i, n := range []*node{one, two, three} {
			change(i, n)
		}
	})
}

func TestLeaders(t *testing.T) {
	f, g := newFake(t, Quorum)
	down, disagree := servicetest.ErrNotRunning.Error(), "do not agree on one leader of locks"
	ofKey := func(ctx context.Context) (string, error) { return g.LeaderOf(ctx, "a") }
	servicetest.Leads(t, g, ofKey, []servicetest.Led{
		{Name: "at first", Leader: "nats-2", Leads: "nats-2"},
		{Name: "while the others have not noticed", Is: func() { f.Down("nats-2", true) }, Ill: down},
		{Name: "before an election", Is: func() { f.led("", "nats-2", "") }, Ill: down},
		{Name: "after one", Is: func() { f.led("nats-3", "nats-2", "nats-3") }, Leader: "nats-3", Leads: "nats-3", Ill: down},
		{Name: "while the old one believes", Is: func() { f.Down("nats-2", false) }, Leader: "nats-3", Leads: "nats-2 nats-3", Ill: disagree},
		{Name: "without a bucket", Is: func() { f.each(func(_ int, n *node) { n.buckets = nil }) }},
		{
			Name: "of a bucket that one server keeps", Is: func() { f.set(func(one, _, _ *node) { one.buckets = map[string]string{"KV_locks": "nats-1"} }) },
			Leader: "nats-1", Leads: "nats-1",
		},
		{
			Name: "of two buckets, of which one has the key", Is: func() {
				f.each(func(_ int, n *node) {
					n.buckets, n.has = map[string]string{"KV_locks": "nats-2", "KV_other": "nats-3", "ORDERS": "nats-1"}, "a"
				})
			},
			Leader: "nats-3", Leads: "nats-2 nats-3",
		},
	})
	if got, err := g.Leader(t.Context()); got != "nats-1" || err != nil {
		t.Errorf("the leader of the metadata is %q, %v", got, err)
	}
	f.each(func(_ int, n *node) { n.meta = "" })
	if got, err := g.Leader(t.Context()); err == nil {
		t.Errorf("no leader is named, and the leader is %q", got)
	}
}

// A group with a server that cannot serve yet is unhealthy.
func TestHealthAsks(t *testing.T) {
	for _, topology := range []locks.Topology{locks.Single, Quorum} {
		f, g := newFake(t, topology)
		f.set(func(one, _, _ *node) { one.sick = "JetStream stream is not current" })
		if err := g.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "nats-1 is unavailable: JetStream stream is not current") {
			t.Errorf("%s: Healthy returns %v", topology, err)
		}
	}
}

// A promoted server leads all buckets and the metadata.
func TestPromote(t *testing.T) {
	f, g := newFake(t, Quorum)
	if got, err := g.Promote(t.Context(), "nats-3"); got != "nats-3" || err != nil {
		t.Errorf("promoted %q, %v", got, err)
	}
	slices.Sort(f.asked)
	want := []string{
		`clients $JS.API.STREAM.LEADER.STEPDOWN.KV_locks {"placement":{"preferred":"nats-3"}}`,
		`operators $JS.API.META.LEADER.STEPDOWN {"placement":{"preferred":"nats-3"}}`,
	}
	if !slices.Equal(f.asked, want) {
		t.Errorf("asked were %q, want %q", f.asked, want)
	}
}

// Dead servers are not queried.
func TestPromoteWithoutOne(t *testing.T) {
	f, g := newFake(t, Quorum)
	f.Down("nats-1", true)
	if got, err := g.Promote(t.Context(), "nats-3"); got != "nats-3" || err != nil {
		t.Errorf("promoted %q, %v", got, err)
	}
}

// Impossible requests fail at once.
func TestPromoteOfOneCopy(t *testing.T) {
	f, g := newFake(t, Quorum)
	f.set(func(one, two, three *node) { one.buckets, three.buckets = nil, nil })
	if _, err := g.Promote(t.Context(), "nats-3"); err == nil || !strings.Contains(err.Error(), "only nats-2 keeps the bucket locks") {
		t.Errorf("it is refused with %v", err)
	}
}

// A request without responders fails at once, and a refused request reports the reason.
func TestAsk(t *testing.T) {
	f, g := newFake(t, Quorum)
	if err := g.monitor(t.Context(), "nats-1", "NOTHING", nil, nil); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("there are no responders, and the error is %v", err)
	}
	f.set(func(one, _, _ *node) { one.refuses = true })
	if err := g.Answers(t.Context(), "nats-1"); err == nil || err.Error() != "nats-1: nats: Authorization Violation" {
		t.Errorf("it is refused, and says %v", err)
	}
}

// A greeting exchanges the requested load in both directions and reports failures.
func TestGreet(t *testing.T) {
	f, g := newFake(t, locks.Single)
	servicetest.Greets(t, g, f, "nats-1", 1, 0, 1, 100_000)
}

// TestSilence checks that a request ends at its limit wherever the server falls silent, and at once when the
// server closes the connection.
func TestSilence(t *testing.T) {
	const greets, lets = "INFO {\"max_payload\": 99}\r\n", "PONG\r\n"
	for _, says := range []string{"", greets, greets + lets} {
		for _, dies := range []bool{false, true} {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			go func() {
				_, _ = io.WriteString(far, says)
				if dies {
					far.Close()
				}
			}()
			limit, want := time.Minute, io.EOF
			if !dies {
				limit, want = 20*time.Millisecond, context.DeadlineExceeded
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			err := connect(ctx, near, as(operators), func(ctx context.Context, conn *nats.Conn) error {
				return request(ctx, conn, "question", nil, nil)
			})
			if want == io.EOF && (err == nil || errors.Is(err, context.DeadlineExceeded)) || want != io.EOF && !errors.Is(err, want) {
				t.Errorf("after %q, closed %v: %v", says, dies, err)
			}
			cancel()
			far.Close()
		}
	}
}
