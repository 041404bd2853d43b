package servicetest

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/internal/service"
)

// Greets sees that a greeting carries as much as it is given to a node, that a share of it comes back, one in
// so many bytes, and that it returns an error if no server answers.
func Greets(t *testing.T, g service.Servers, h service.Host, node string, share int, loads ...int) {
	t.Helper()
	for _, load := range loads {
		c, err := h.Dial(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		counted := &counting{Conn: c}
		err = g.Greet(t.Context(), node, counted, load)
		c.Close()
		if sent, heard := counted.sent.Load(), counted.heard.Load(); err != nil || sent < int64(load) || heard < int64(load/share) {
			t.Errorf("load %d: %v, sent %d, heard %d", load, err, sent, heard)
		}
		silent, _ := net.Pipe()
		defer silent.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := g.Greet(ctx, node, silent, load); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("load %d: no server answers: got error %v", load, err)
		}
	}
}

// counting counts what is sent and heard. An answer may come while the load is being sent.
type counting struct {
	net.Conn
	sent, heard atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.heard.Add(int64(n))
	return n, err
}
