package mongo

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"lockbench/service"
)

// servers are the running servers of one cluster.
type servers struct {
	topology service.Topology
	host     service.Host
	database string            // of the locks
	called   map[string]string // the nodes, by what members of a replica set call each other
}

// All that they can do beside serving.
var (
	_ service.Servers = (*servers)(nil)
	_ service.Flusher = (*servers)(nil)
)

// Nodes are all servers.
func (g *servers) Nodes() []service.Node { return g.topology.Nodes() }

// Topology is what they form.
func (g *servers) Topology() service.Topology { return g.topology }

// Params say where the locks are.
func (g *servers) Params() map[string]string { return map[string]string{Database: g.database} }

// Lead is nobody: there is one server.
func (g *servers) Lead() string { return "" }

// askLimit bounds one question to a server that is there. It is generous: a busy machine is
// slow.
const askLimit = 2 * time.Second

// ask asks a node, on a connection of its own: servers die and come back.
func (g *servers) ask(ctx context.Context, node string, question document) (map[string]any, error) {
	if s := g.host.Status(node); s.Why != nil {
		return nil, fmt.Errorf("%s: %w", node, s.Why)
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	c, err := g.host.Dial(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	defer c.Close()
	said, err := exchange(ctx, c, question, 1)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", node, question[0].name, err)
	}
	return said, nil
}

// exchange asks a question so many times, and returns the last answer.
func exchange(ctx context.Context, c net.Conn, question document, times int) (said map[string]any, err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	wrote := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < times && err == nil; i++ {
			_, err = c.Write(message(uint32(i+1), question))
		}
		wrote <- err
	}()
	answers := bufio.NewReader(c)
	for i := range times {
		if said, err = answer(answers, uint32(i+1)); err != nil {
			break
		}
	}
	if err == nil {
		err = <-wrote
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("no answer: %w", ctx.Err())
	}
	return said, err
}

// answer reads that to a question by its number.
func answer(from io.Reader, number uint32) (map[string]any, error) {
	head := make([]byte, headLength+5)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head)
	switch {
	case length < uint32(len(head)) || length > messageMax || binary.LittleEndian.Uint32(head[12:]) != opMessage:
		return nil, errors.New("it answered in another protocol")
	case binary.LittleEndian.Uint32(head[8:]) != number:
		return nil, errors.New("it answered another question")
	}
	body := make([]byte, int(length)-len(head))
	if _, err := io.ReadFull(from, body); err != nil {
		return nil, err
	}
	said, err := read(body)
	if err == nil && said["ok"] != 1.0 {
		text, _ := said["errmsg"].(string)
		code, _ := said["code"].(int32)
		err = &refusal{text, code}
	}
	return said, err
}

// refusal is an answer that says no.
type refusal struct {
	text string
	code int32
}

func (r *refusal) Error() string { return "it refused: " + r.text }

// Codes of refusals.
const (
	codeUnauthorized = 13
	codeNoSuchLogin  = 18
)

// Answers asks a server for a sign of life.
func (g *servers) Answers(ctx context.Context, node string) error {
	_, err := g.ask(ctx, node, ping)
	return err
}

// Greet asks for one as often as it takes to carry the load there; nearly as much comes back.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	_, err := exchange(ctx, c, ping, 1+load/len(message(1, ping)))
	return err
}

// hello is the question who a server is.
var hello = document{{"hello", int32(1)}, {"$db", "admin"}}

// member is what a server says of itself.
type member struct {
	set            string   // the replica set that it is of; empty: none
	calls, primary string   // itself and who leads, as members call each other
	others         []string // all that keep data, itself too
	writes, reads  bool
	arbiter        bool // it votes, and keeps no data
	router         bool // it leads to the parts of a cluster, and keeps no data
}

func memberOf(said map[string]any) (m member) {
	m.set, _ = said["setName"].(string)
	m.calls, _ = said["me"].(string)
	m.primary, _ = said["primary"].(string)
	m.writes, _ = said["isWritablePrimary"].(bool)
	m.reads, _ = said["secondary"].(bool)
	m.arbiter, _ = said["arbiterOnly"].(bool)
	m.router = said["msg"] == "isdbgrid"
	for _, list := range []string{"hosts", "passives"} {
		names, _ := said[list].([]string)
		m.others = append(m.others, names...)
	}
	return m
}

// members are those that answer, by their nodes; err is why others do not.
func (g *servers) members(ctx context.Context) (map[string]member, error) {
	var mu sync.Mutex
	all := map[string]member{}
	err := service.Each(g.Nodes(), func(n service.Node) error {
		said, err := g.ask(ctx, n.Name, hello)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			all[n.Name] = memberOf(said)
		}
		return err
	})
	return all, err
}

// Leaders are all that take writes.
func (g *servers) Leaders(ctx context.Context) []string {
	all, _ := g.members(ctx)
	var leaders []string
	for _, n := range g.Nodes() {
		if all[n.Name].writes {
			leaders = append(leaders, n.Name)
		}
	}
	return leaders
}

// Leader is the only server, or whom a majority of a replica set takes for its primary.
func (g *servers) Leader(ctx context.Context) (string, error) {
	nodes := g.Nodes()
	if len(nodes) == 1 {
		return nodes[0].Name, nil
	}
	all, err := g.members(ctx)
	votes := map[string]int{}
	for _, m := range all {
		votes[g.called[m.primary]]++
	}
	for node, n := range votes {
		if node != "" && n > len(nodes)/2 {
			return node, nil
		}
	}
	return "", errors.Join(errors.New("no primary is named by a majority of the members"), err)
}

// Healthy tells what is missing, asked past all faults.
func (g *servers) Healthy(ctx context.Context) error {
	all, err := g.members(ctx)
	if err != nil {
		return err
	}
	var lead []string
	for _, n := range g.Nodes() {
		switch m := all[n.Name]; {
		case m.writes:
			lead = append(lead, n.Name)
		case len(all) == 1:
			return fmt.Errorf("%s takes no writes", n.Name)
		case !m.reads:
			return fmt.Errorf("%s is neither the primary nor a secondary", n.Name)
		}
	}
	if len(lead) != 1 {
		return fmt.Errorf("of the replica set %d take writes, want one", len(lead))
	}
	for node, m := range all {
		if len(all) > 1 && g.called[m.primary] != lead[0] {
			return fmt.Errorf("%s takes %q for the primary, and %s is that", node, m.primary, lead[0])
		}
	}
	return nil
}

// Form returns when servers that were just started serve.
func (g *servers) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, g) }

// Started and Resumed have nothing to do.
func (g *servers) Started(context.Context, string) error { return nil }
func (g *servers) Resumed(context.Context, string) error { return nil }

// Flush drops the database of the locks.
func (g *servers) Flush(ctx context.Context, node string) error {
	_, err := g.ask(ctx, node, document{{"dropDatabase", int32(1)}, {"$db", g.database}})
	return err
}
