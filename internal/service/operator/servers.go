package operator

import (
	"context"
	"database/sql"
	"maps"
	"time"

	"lockbench/internal/service"
)

// Servers are the running servers of a database in SQL, with their failover manager.
type Servers struct {
	*Operator
	*SQL
	dialect Dialect
	params  map[string]string
}

// Dialect has the statements that differ between databases.
type Dialect struct {
	Open  func(Dial) (*sql.DB, error) // prepares sessions, see [OpenDB]
	Clock string                      // queries the time of a server in microseconds
	Nudge string                      // makes a server log something that touches no table
}

// NewServers returns the servers of a cluster. Clients get the parameters that are not empty. Database
// returns the functions of the failover manager.
func NewServers(t service.Topology, h service.Host, d Dialect, params map[string]string, database func(*Servers) Database) *Servers {
	maps.DeleteFunc(params, func(_, value string) bool { return value == "" })
	s := &Servers{SQL: NewSQL(h, d.Open), dialect: d, params: params}
	s.Operator = New(t, h, database(s))
	return s
}

// Params returns the login of clients, and where the tables of locks are.
func (s *Servers) Params() map[string]string { return maps.Clone(s.params) }

// Abilities are those of the failover manager, and what the database reports.
func (s *Servers) Abilities() service.Abilities {
	return service.Abilities{Promote: s.Promote, Offsets: s.Offsets, Nudge: s.Nudge, ClockOffset: s.ClockOffset}
}

// Answers checks that a node answers a query.
func (s *Servers) Answers(ctx context.Context, node string) error {
	var one int
	return s.Row(ctx, node, "SELECT 1", &one)
}

// ClockOffset returns by how much the clock of a node is wrong.
func (s *Servers) ClockOffset(ctx context.Context, node string) (by time.Duration, err error) {
	return by, s.Session(ctx, node, service.AskLimit, func(ctx context.Context, c *sql.Conn) error {
		var micros int64
		before := time.Now()
		err := c.QueryRowContext(ctx, s.dialect.Clock).Scan(&micros)
		by = time.UnixMicro(micros).Sub(before.Add(time.Since(before) / 2))
		return err
	})
}

// Nudge makes the leader send its followers something that touches no table.
func (s *Servers) Nudge(ctx context.Context, leader string) error {
	return s.Order(ctx, leader, service.AskLimit, s.dialect.Nudge)
}
