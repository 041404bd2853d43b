package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockbench/internal/service"
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

// pieceMax is the part of a load in one request. A server accepts up to a megabyte.
const pieceMax = 64 << 10

// Greet checks a server by a word. With a load it opens a session, and requests to sync paths of the given
// total size, which the answers repeat. The paths need not exist.
func (g *servers) Greet(ctx context.Context, _ string, c net.Conn, load int) error {
	if load > 0 {
		return inSession(ctx, c, func(conn *zk.Conn) error {
			for ; load > 0; load -= pieceMax {
				if _, err := conn.Sync("/" + strings.Repeat("x", min(load, pieceMax))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return service.Interrupt(ctx, c, func() error {
		said, err := say(c, sign)
		if err == nil && !alive(said) {
			err = fmt.Errorf("it answers %.40q", said)
		}
		return err
	})
}

// Answers asks a server for a sign of life. It gives one also while it has no leader.
func (g *servers) Answers(ctx context.Context, node string) error {
	said, err := g.ask(ctx, node, sign)
	if err == nil && !alive(said) {
		err = fmt.Errorf("%s answers %.40q", node, said)
	}
	return err
}
