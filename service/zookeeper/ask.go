package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"lockbench/service"
)

// wordMax bounds the answer to a word.
const wordMax = 1 << 20

// ask sends a four-letter word to a node and returns the answer.
func (g *servers) ask(ctx context.Context, node, word string) (answer string, err error) {
	err = g.Ask(ctx, node, service.AskLimit, func(_ context.Context, c net.Conn) error {
		answer, err = say(c, word)
		return err
	})
	return answer, err
}

// say sends a word on a connection, which the server closes after its answer.
func say(c net.Conn, word string) (string, error) {
	_, err := io.WriteString(c, word)
	var said []byte
	if err == nil {
		said, err = io.ReadAll(io.LimitReader(c, wordMax))
	}
	if err == nil && len(said) == 0 {
		err = errors.New("it ended the connection and said nothing")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", word, err)
	}
	return string(said), nil
}

// sign is the word that checks a server, and its answer.
const sign, well = "ruok", "imok"

// denied reports whether a server refuses a word. By default servers refuse all words except srvr;
// lockbench's own servers allow all.
func denied(said string) bool { return strings.Contains(said, "is not in the whitelist") }

// alive reports whether an answer to sign is a sign of life.
func alive(said string) bool { return said == well || denied(said) }

// Greet checks a server by a word. With a load it opens a session, in which the server returns the
// load.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	return service.Interrupt(ctx, c, func() error {
		if load > 0 {
			return echo(c, load)
		}
		said, err := say(c, sign)
		if err == nil && !alive(said) {
			err = fmt.Errorf("it answers %.40q", said)
		}
		return err
	})
}

// pieceMax is the part of a load in one request. A server accepts up to a megabyte.
const pieceMax = 64 << 10

// echo opens a session and sends requests to sync paths of the given total size, which the answers
// repeat. The paths need not exist.
func echo(c net.Conn, load int) error {
	for _, piece := range conversation(load) {
		if _, err := c.Write(piece); err != nil {
			return err
		}
		if _, err := readPacket(c); err != nil {
			return err
		}
	}
	return nil
}

// conversation returns the messages of a client that carry a load.
func conversation(load int) [][]byte {
	// Protocol 0, no transaction seen, no old session, an empty password.
	hello := binary.BigEndian.AppendUint32(nil, 0)
	hello = binary.BigEndian.AppendUint64(hello, 0)
	hello = binary.BigEndian.AppendUint32(hello, uint32(sessionTime.Milliseconds()))
	hello = binary.BigEndian.AppendUint64(hello, 0)
	hello = append(text(hello, strings.Repeat("\x00", 16)), 0)
	all := [][]byte{packet(hello)}
	xid := uint32(1)
	for ; load > 0; load -= pieceMax {
		path := "/" + strings.Repeat("x", min(load, pieceMax))
		all = append(all, packet(text(request(xid, opSync), path)))
		xid++
	}
	return append(all, packet(request(xid, opClose)))
}

func request(xid uint32, op int32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, xid), uint32(op))
}

func text(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func packet(b []byte) []byte { return text(nil, string(b)) }

func readPacket(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > packetMax {
		return nil, fmt.Errorf("an answer of %d bytes is none of ZooKeeper's", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// Answers asks a server for a sign of life. It gives one also while it has no leader.
func (g *servers) Answers(ctx context.Context, node string) error {
	said, err := g.ask(ctx, node, sign)
	if err == nil && !alive(said) {
		err = fmt.Errorf("%s answers %.40q", node, said)
	}
	return err
}
