package zookeeper

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// A session ends when the server closes the connection, and at its limit when the server does not answer.
func TestSessionEnds(t *testing.T) {
	for _, closes := range []bool{true, false} {
		near, far := net.Pipe()
		defer far.Close()
		limit := 100 * time.Millisecond
		if closes {
			far.Close()
			limit = time.Minute
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		err := inSession(ctx, near, func(conn *zk.Conn) error {
			_, _, err := conn.Get("/a")
			return err
		})
		if err == nil {
			t.Errorf("closed %v: no error", closes)
		}
		if closes && ctx.Err() != nil {
			t.Errorf("a session whose server closed the connection ends at the limit: %v", err)
		}
	}
}
