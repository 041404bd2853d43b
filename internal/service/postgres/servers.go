package postgres

import (
	"context"
	"database/sql"
	"errors"
	"net/netip"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/service/operator"
)

// servers are the running servers of one cluster.
type servers struct{ *operator.Servers }

var _ service.Servers = (*servers)(nil)

var dialect = operator.Dialect{
	Clock: "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
	// A transaction that does not wait for replicas.
	Nudge: "BEGIN; SET LOCAL synchronous_commit = local; SELECT pg_logical_emit_message(true, 'lockbench', ''); COMMIT",
}

// newServers returns servers at which tables of locks are in a schema; empty: the usual one.
func newServers(t service.Topology, h service.Host, as login, schema string) *servers {
	d := dialect
	d.Open = func(dial operator.Dial) (*sql.DB, error) { return open(as, dial) }
	params := map[string]string{User: as.User, Password: as.Password, Database: as.database, Schema: schema}
	return &servers{operator.NewServers(t, h, d, params, func(s *operator.Servers) operator.Database { return asked{s} })}
}

// stateQuery returns the state of a server. After a restart, the received position begins again, and
// the replayed position does not.
const stateQuery = `SELECT NOT pg_is_in_recovery(),
	CASE WHEN pg_is_in_recovery() THEN greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) ELSE pg_current_wal_lsn() END - '0/0'::pg_lsn,
	coalesce((SELECT status = 'streaming' FROM pg_stat_wal_receiver), false),
	coalesce((SELECT sender_host FROM pg_stat_wal_receiver), ''), coalesce((SELECT sender_port FROM pg_stat_wal_receiver), 0)`

// asked gives the failover manager access to the database.
type asked struct{ *operator.Servers }

func (g asked) State(ctx context.Context, node string) (operator.State, error) {
	var s operator.State
	host, port := "", 0
	if err := g.Row(ctx, node, stateQuery, &s.Leads, &s.Received, &s.Streams, &host, &port); err != nil {
		return s, err
	}
	if at, err := netip.ParseAddr(host); err == nil {
		s.Follows = netip.AddrPortFrom(at, uint16(port))
	}
	return s, nil
}

// promoteLimit is how long a promotion may take, in seconds.
const promoteLimit = 15

// Promote makes a replica the primary.
func (g asked) Promote(ctx context.Context, node string) error {
	return g.Session(ctx, node, (promoteLimit+1)*time.Second, func(ctx context.Context, c *sql.Conn) error {
		done := false
		err := c.QueryRowContext(ctx, "SELECT CASE WHEN pg_is_in_recovery() THEN pg_promote(true, $1) ELSE true END", promoteLimit).Scan(&done)
		if err == nil && !done {
			err = errors.New("it is not a primary yet")
		}
		return err
	})
}

// Follow makes a replica reload its files, which name the leader.
func (g asked) Follow(ctx context.Context, node string, _ netip.AddrPort) error {
	var done bool
	return g.Row(ctx, node, "SELECT pg_reload_conf()", &done)
}

// Started has nothing to do: the files of a server name its leader.
func (asked) Started(context.Context, string, *netip.AddrPort) error { return nil }
