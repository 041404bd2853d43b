package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"lockbench/service"
)

// session is a client of one server, as far as lockbench needs it to find and to remove nodes:
// one question after the other, and no watches.
type session struct {
	c   net.Conn
	xid uint32
}

// What is asked beside, and what is said of nodes.
const (
	opDelete   = 2
	opData     = 4
	opChildren = 8
	anyVersion = 0xffffffff
)

// code is a refusal of one question.
type code int32

const (
	noNode   code = -101
	noAuth   code = -102
	notEmpty code = -111
)

func (c code) Error() string {
	switch c {
	case noNode:
		return "there is no such node"
	case noAuth:
		return "its ACL does not let lockbench do that"
	case notEmpty:
		return "it has children"
	}
	return fmt.Sprintf("ZooKeeper's error %d", int32(c))
}

// stepLimit bounds one question of a session.
const stepLimit = 10 * time.Second

// open begins a session, or ends the connection.
func open(ctx context.Context, c net.Conn) (*session, error) {
	s := &session{c: c}
	err := s.within(ctx, func() error {
		if _, err := c.Write(conversation(0)[0]); err != nil {
			return err
		}
		said, err := readPacket(c)
		if err == nil && len(said) < 8 {
			err = errors.New("it answers no session")
		}
		return err
	})
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return s, nil
}

func (s *session) within(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	return service.Interrupt(ctx, s.c, do)
}

// close ends the session and its connection.
func (s *session) close(ctx context.Context) {
	_, _ = s.ask(ctx, opClose, nil)
	s.c.Close()
}

// ask asks, and returns what follows the head of the answer.
func (s *session) ask(ctx context.Context, op int32, body []byte) (answer []byte, err error) {
	s.xid++
	err = s.within(ctx, func() error {
		if _, err := s.c.Write(packet(append(request(s.xid, op), body...))); err != nil {
			return err
		}
		said, err := readPacket(s.c)
		// The number of the request, that of the last transaction, and a refusal or 0.
		const head = 4 + 8 + 4
		switch {
		case err != nil:
			return err
		case len(said) < head || binary.BigEndian.Uint32(said) != s.xid:
			return errors.New("it answers something that was not asked")
		}
		if refused := code(binary.BigEndian.Uint32(said[head-4:])); refused != 0 {
			return refused
		}
		answer = said[head:]
		return nil
	})
	return answer, err
}

// sync lets the server hear first what it has not heard yet.
func (s *session) sync(ctx context.Context) error {
	_, err := s.ask(ctx, opSync, text(nil, "/"))
	return err
}

// children are the names of a node's children.
func (s *session) children(ctx context.Context, path string) ([]string, error) {
	said, err := s.ask(ctx, opChildren, append(text(nil, path), 0))
	if err != nil {
		return nil, err
	}
	var names []string
	for n := s.number(&said); n > 0; n-- {
		name, ok := s.text(&said)
		if !ok {
			return nil, errors.New("it answers no list of children")
		}
		names = append(names, name)
	}
	return names, nil
}

// data is what a node has.
func (s *session) data(ctx context.Context, path string) (string, error) {
	said, err := s.ask(ctx, opData, append(text(nil, path), 0))
	if err != nil {
		return "", err
	}
	data, _ := s.text(&said)
	return data, nil
}

// remove deletes a node and all that is below it, and says how many those were. What others
// have deleted meanwhile is gone as well.
func (s *session) remove(ctx context.Context, path string) (n int, err error) {
	_, err = s.ask(ctx, opDelete, binary.BigEndian.AppendUint32(text(nil, path), anyVersion))
	switch {
	case err == nil:
		return 1, nil
	case errors.Is(err, noNode):
		return 0, nil
	case !errors.Is(err, notEmpty):
		return 0, fmt.Errorf("remove %s: %w", path, err)
	}
	names, err := s.children(ctx, path)
	if err != nil && !errors.Is(err, noNode) {
		return 0, fmt.Errorf("remove %s: %w", path, err)
	}
	for _, name := range names {
		below, err := s.remove(ctx, path+"/"+name)
		if n += below; err != nil {
			return n, err
		}
	}
	above, err := s.remove(ctx, path)
	return n + above, err
}

// number takes a number from the beginning of an answer.
func (*session) number(b *[]byte) int {
	if len(*b) < 4 {
		return 0
	}
	n := int32(binary.BigEndian.Uint32(*b))
	*b = (*b)[4:]
	return int(n)
}

// text takes a text from there.
func (s *session) text(b *[]byte) (string, bool) {
	n := s.number(b)
	if n < 0 || n > len(*b) {
		return "", false
	}
	t := string((*b)[:n])
	*b = (*b)[n:]
	return t, true
}
