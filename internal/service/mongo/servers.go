package mongo

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/service"
)

// servers are the running servers of one cluster.
type servers struct {
	*service.Cluster
	login    service.Credentials
	database string // of the locks
}

var _ service.Servers = (*servers)(nil)

func newServers(t service.Topology, h service.Host, database string) *servers {
	g := &servers{database: database}
	g.Cluster = service.NewCluster(t, h, g.state)
	return g
}

// Params returns the database of the locks, and the login of clients.
func (g *servers) Params() map[string]string {
	params := map[string]string{Database: g.database}
	if g.login.User != "" {
		params[User], params[Password] = g.login.User, g.login.Password
	}
	return params
}

// ask sends a command to a node on a new connection, because servers die and come back.
func (g *servers) ask(ctx context.Context, node string, question bson.D, into any) error {
	return g.Ask(ctx, node, service.AskLimit, func(_ context.Context, c net.Conn) error {
		err := logIn(c, g.login)
		if err == nil {
			err = exchange(c, question, 1, into)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", question[0].Key, err)
		}
		return nil
	})
}

// exchange sends a command the given number of times, and decodes the last answer unless into is nil.
func exchange(c net.Conn, question bson.D, times int, into any) error {
	wrote := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < times && err == nil; i++ {
			_, err = c.Write(message(uint32(i+1), question))
		}
		wrote <- err
	}()
	answers := bufio.NewReader(c)
	var said bson.Raw
	for i := range times {
		var err error
		if said, err = answer(answers, uint32(i+1)); err != nil {
			return err
		}
	}
	if into != nil {
		if err := bson.Unmarshal(said, into); err != nil {
			return err
		}
	}
	return <-wrote
}

// answer reads the answer to the command with a number.
func answer(from io.Reader, number uint32) (bson.Raw, error) {
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
	body := make(bson.Raw, int(length)-len(head))
	if _, err := io.ReadFull(from, body); err != nil {
		return nil, err
	}
	if err := body.Validate(); err != nil {
		return nil, err
	}
	var no refusal
	if err := bson.Unmarshal(body, &no); err != nil {
		return nil, err
	}
	if no.OK != 1 {
		return nil, &no
	}
	return body, nil
}

// refusal is an answer whose OK is not 1.
type refusal struct {
	OK   float64 `bson:"ok"`
	Text string  `bson:"errmsg"`
	Code int32   `bson:"code"`
}

func (r *refusal) Error() string { return "it refused: " + r.Text }

// Codes of refusals.
const (
	codeUnauthorized = 13
	codeNoSuchLogin  = 18
)

func (g *servers) Answers(ctx context.Context, node string) error {
	return g.ask(ctx, node, ping, nil)
}

// Greet sends as many pings as carry the load. The answers are nearly as long. Servers answer a ping
// without a login.
func (g *servers) Greet(ctx context.Context, _ string, c net.Conn, load int) error {
	return service.Interrupt(ctx, c, func() error { return exchange(c, ping, 1+load/len(message(1, ping)), nil) })
}

// hello is the command that returns the identity of a server.
var hello = question("admin", "hello", 1, nil)

// member is the answer to hello.
type member struct {
	Set      string   `bson:"setName"` // its replica set; empty: none
	Calls    string   `bson:"me"`      // its address, as members call each other
	Primary  string   `bson:"primary"` // the address of the primary, likewise
	Hosts    []string `bson:"hosts"`   // the addresses of members that keep data
	Passives []string `bson:"passives"`
	Writes   bool     `bson:"isWritablePrimary"`
	Reads    bool     `bson:"secondary"`
	Arbiter  bool     `bson:"arbiterOnly"` // it votes, and keeps no data
	Kind     string   `bson:"msg"`
}

// router is the kind of a server that forwards requests to the parts of a cluster, and keeps no data.
const router = "isdbgrid"

// state asks a server for its part in the replica set, whose members have names of their own.
func (g *servers) state(ctx context.Context, node string) (service.State, error) {
	var m member
	if err := g.ask(ctx, node, hello, &m); err != nil {
		return service.State{}, err
	}
	state := service.State{ID: m.Calls, Leader: m.Primary, Leads: m.Writes}
	switch {
	case len(g.Nodes()) == 1 && !m.Writes:
		state.Lacks = errors.New("takes no writes")
	case !m.Writes && !m.Reads:
		state.Lacks = errors.New("is neither the primary nor a secondary")
	case len(g.Nodes()) > 1 && m.Primary == "":
		state.Lacks = errors.New("knows no primary")
	}
	return state, nil
}

// Abilities returns the only order.
func (g *servers) Abilities() service.Abilities {
	return service.Abilities{Orders: map[string]service.Order{service.OrderFlush: service.OnNode(g.Flush)}}
}

// Flush drops the database of the locks.
func (g *servers) Flush(ctx context.Context, node string) error {
	return g.ask(ctx, node, question(g.database, "dropDatabase", 1, nil), nil)
}
