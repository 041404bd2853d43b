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

	"lockbench/service"
)

// askLimit bounds one question to one server, unless ctx ends earlier.
const askLimit = time.Second

// serverError is an error that a server answered.
type serverError string

func (e serverError) Error() string { return "the server answered " + strconv.Quote(string(e)) }

// askHost sends one command on its own connection and reads the answer: a string, an int64, nil or a
// []any of these.
func (g *servers) askHost(ctx context.Context, node string, command ...string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	c, err := g.Host.Dial(ctx, node)
	if err == nil {
		defer c.Close()
		var reply any
		if reply, err = askOn(ctx, c, command...); err == nil {
			return reply, nil
		}
	}
	if why := g.Host.Status(node).Why; why != nil {
		err = why
	}
	return nil, fmt.Errorf("%s: %w", node, err)
}

// Greet sends PING, which returns its payload.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	want, command := "PONG", []string{"PING"}
	if load > 0 {
		want = strings.Repeat("x", load)
		command = append(command, want)
	}
	reply, err := askOn(ctx, c, command...)
	if err == nil && reply != want {
		err = fmt.Errorf("it answered %.40q", fmt.Sprint(reply))
	}
	return err
}

// askOn sends a command on a connection, without a limit.
func askOn(ctx context.Context, c net.Conn, command ...string) (reply any, err error) {
	err = service.Interrupt(ctx, c, func() error {
		reply, err = exchange(c, command)
		return err
	})
	return reply, err
}

func exchange(c net.Conn, command []string) (any, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, arg := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		return nil, err
	}
	return readReply(bufio.NewReader(c), 0)
}

var errReply = errors.New("the answer is not RESP")

// replyDepthMax bounds nested arrays, and replyMax the size of strings and arrays.
const (
	replyDepthMax = 8
	replyMax      = 1 << 20
)

func readReply(r *bufio.Reader, depth int) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" || depth > replyDepthMax {
		return nil, errReply
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, serverError(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil:
		return nil, errReply
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case n > replyMax:
		return nil, errReply
	case kind == '$':
		text := make([]byte, n+2)
		_, err := io.ReadFull(r, text)
		return string(text[:n]), err
	case kind == '*':
		var list []any
		for range n {
			item, err := readReply(r, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	}
	return nil, errReply
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
