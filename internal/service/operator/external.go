package operator

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/internal/service"
)

// Schemas are the statements about the schemas of runs on an external server. A schema has the tables of
// locks, and its name is the prefix of the run's keys.
type Schemas struct {
	Create, Drop string // with %s for the name in quotes
	Find         string // queries names by a text in them, and a limit
	Quote        func(name string) string
	ByHand       string // how a user removes them, with %q for a text in their names
}

// roomLimit is how long a schema may take to be created or dropped: a connection that was cut off may hold
// its tables.
const roomLimit = 30 * time.Second

// external is an external server with the schema of a run.
type external struct {
	service.Servers
	Schemas
	sql  *SQL
	name string      // of the server
	own  string      // the schema
	made atomic.Bool // the schema of the run should exist
}

// External returns the only server of a group with the schema of a run.
func (s *Servers) External(g service.Servers, prefix string, schemas Schemas) service.ExternalServers {
	x := &external{Servers: g, Schemas: schemas, sql: s.SQL, name: s.Nodes()[0].Name, own: prefix}
	return service.ExternalServers{
		Servers: x, MakeRoom: x.makeRoom, Under: x.under, Clear: x.clear,
		ByHand: func(text string) string { return fmt.Sprintf(x.ByHand, text) },
		Can:    service.Abilities{ClockOffset: s.ClockOffset},
	}
}

func (x *external) makeRoom(ctx context.Context) error {
	err := x.create(ctx, roomLimit)
	x.made.Store(err == nil)
	return err
}

func (x *external) create(ctx context.Context, limit time.Duration) error {
	return x.sql.Order(ctx, x.name, limit, fmt.Sprintf(x.Create, x.Quote(x.own)))
}

// Answers also creates the schema again on a server that lost its data, because clients cannot connect
// without it.
func (x *external) Answers(ctx context.Context, node string) error {
	if err := x.Servers.Answers(ctx, node); err != nil || !x.made.Load() {
		return err
	}
	return x.create(ctx, service.AskLimit)
}

// under searches the names of schemas.
func (x *external) under(ctx context.Context, text string, most int) (map[string][]string, error) {
	var found []string
	err := x.sql.Session(ctx, x.name, service.AskLimit, func(ctx context.Context, c *sql.Conn) error {
		rows, err := c.QueryContext(ctx, x.Find, text, most)
		if err != nil {
			return err
		}
		defer rows.Close()
		for found = nil; rows.Next(); {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			found = append(found, name)
		}
		return rows.Err()
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return map[string][]string{x.name: found}, nil
}

// clear drops the schema of the run.
func (x *external) clear(ctx context.Context) (int, error) {
	under, err := x.under(ctx, x.own, 1)
	if err != nil || len(under) == 0 {
		return 0, err
	}
	x.made.Store(false)
	return 1, x.sql.Order(ctx, x.name, roomLimit, fmt.Sprintf(x.Drop, x.Quote(x.own)))
}
