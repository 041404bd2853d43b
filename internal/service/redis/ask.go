package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/service"
)

// askLimit bounds one question to one server, unless ctx ends earlier.
const askLimit = time.Second

// ServerError is an error that a server answered.
type ServerError string

func (e ServerError) Error() string { return "the server answered " + strconv.Quote(string(e)) }

// askHost sends one command on its own connection. It dials even if the node should not answer: a hook that failed
// to kill an external server leaves a node that counts as killed and answers.
func (g *nodes) askHost(ctx context.Context, node string, command ...string) (reply any, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	c, err := g.Host.Dial(ctx, node)
	if err == nil {
		defer c.Close()
		err = service.Interrupt(ctx, c, func() error {
			reply, err = exchange(c, command...)
			return err
		})
	}
	if err == nil {
		return reply, nil
	}
	if why := g.Host.Status(node).Why; why != nil {
		err = why
	}
	return nil, fmt.Errorf("%s: %w", node, err)
}

// Greet sends PING, which returns its payload.
func (g *nodes) Greet(ctx context.Context, _ string, c net.Conn, load int) error {
	want, command := "PONG", []string{"PING"}
	if load > 0 {
		want = strings.Repeat("x", load)
		command = append(command, want)
	}
	return service.Interrupt(ctx, c, func() error {
		reply, err := exchange(c, command...)
		if err == nil && reply != want {
			err = fmt.Errorf("it answered %.40q", fmt.Sprint(reply))
		}
		return err
	})
}

// exchange sends a command and reads the answer: a string, an int, or a []any of these. A client library would
// first greet the server, and a probe measures one exchange.
func exchange(c net.Conn, command ...string) (any, error) {
	if _, err := io.WriteString(c, proto.Strings(command...)); err != nil {
		return nil, err
	}
	raw, err := proto.Read(bufio.NewReader(c))
	if err != nil {
		return nil, err
	}
	return readAnswer(raw)
}

// readAnswer converts an answer in RESP.
func readAnswer(raw string) (any, error) {
	reply, err := proto.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the answer %.40q is not RESP: %w", raw, err)
	}
	if said, ok := reply.(error); ok {
		return nil, ServerError(said.Error())
	}
	return reply, nil
}

// texts converts an answer that is a flat list of strings.
func texts(reply any) []string {
	list, _ := reply.([]any)
	var out []string
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

// pairs converts an answer that lists names and values in turn.
func pairs(reply any) map[string]string {
	list := texts(reply)
	out := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		out[list[i]] = list[i+1]
	}
	return out
}

// lists converts an answer that is a list of such answers.
func lists(reply any) []map[string]string {
	list, _ := reply.([]any)
	var out []map[string]string
	for _, item := range list {
		out = append(out, pairs(item))
	}
	return out
}

// fields converts an answer to INFO.
func fields(reply any) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(fmt.Sprint(reply)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		all[name] = value
	}
	return all
}

// refusal converts an error of a server that begins with a code.
func refusal(err error, code string) (said string, refused bool) {
	var e ServerError
	if errors.As(err, &e) && strings.HasPrefix(string(e), code) {
		return string(e), true
	}
	return "", false
}
