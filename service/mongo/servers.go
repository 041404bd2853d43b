package mongo

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"lockbench/service"
)

// servers are the running servers of one cluster.
type servers struct {
	*service.Cluster
	database string            // of the locks
	called   map[string]string // the nodes, by what members of a replica set call each other
}

// The optional abilities of MongoDB.
var (
	_ service.Servers = (*servers)(nil)
	_ service.Flusher = (*servers)(nil)
)

func newServers(t service.Topology, h service.Host, database string, called map[string]string) *servers {
	g := &servers{database: database, called: called}
	g.Cluster = service.NewCluster(t, h, g.state)
	return g
}

// Params name the database of the locks.
func (g *servers) Params() map[string]string { return map[string]string{Database: g.database} }

// ask asks a node, on a connection of its own: servers die and come back.
func (g *servers) ask(ctx context.Context, node string, question document) (said map[string]any, err error) {
	err = g.Ask(ctx, node, service.AskLimit, func(ctx context.Context, c net.Conn) error {
		if said, err = exchange(ctx, c, question, 1); err != nil {
			return fmt.Errorf("%s: %w", question[0].name, err)
		}
		return nil
	})
	return said, err
}

// exchange asks a question so many times, and returns the last answer.
func exchange(ctx context.Context, c net.Conn, question document, times int) (said map[string]any, err error) {
	err = service.Interrupt(ctx, c, func() error {
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
				return err
			}
		}
		return <-wrote
	})
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

// state asks a server for its part in the replica set, whose members have names of their own.
func (g *servers) state(ctx context.Context, node string) (service.State, error) {
	said, err := g.ask(ctx, node, hello)
	if err != nil {
		return service.State{}, err
	}
	m := memberOf(said)
	state := service.State{Leads: m.writes, Leader: m.primary}
	if leader := g.called[m.primary]; leader != "" {
		state.Leader = leader
	}
	switch {
	case len(g.Nodes()) == 1 && !m.writes:
		state.Lacks = errors.New("takes no writes")
	case !m.writes && !m.reads:
		state.Lacks = errors.New("is neither the primary nor a secondary")
	case len(g.Nodes()) > 1 && m.primary == "":
		state.Lacks = errors.New("knows no primary")
	}
	return state, nil
}

// Form returns when servers that were just started serve.
func (g *servers) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, g) }

// Flush drops the database of the locks.
func (g *servers) Flush(ctx context.Context, node string) error {
	_, err := g.ask(ctx, node, document{{"dropDatabase", int32(1)}, {"$db", g.database}})
	return err
}
