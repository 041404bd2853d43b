package postgres

import (
	"context"
	"database/sql"
	"errors"
	"net/netip"
	"time"

	"lockbench/service"
	"lockbench/service/operator"
)

// servers are the running servers of one cluster.
type servers struct {
	*operator.Operator
	*operator.SQL
	login  login
	schema string // of the tables of locks; empty: the usual one
}

var _ service.Servers = (*servers)(nil)

var _ operator.Database = asked{}

func newServers(t service.Topology, h service.Host, as login) *servers {
	g := &servers{login: as}
	g.SQL = operator.NewSQL(h, func(dial operator.Dial) (*sql.DB, error) { return open(as, dial) })
	g.Operator = operator.New(t, h, asked{g})
	return g
}

// Params returns the login of clients, and where the tables of locks are.
func (g *servers) Params() map[string]string {
	params := map[string]string{User: g.login.User, Database: g.login.database}
	if g.login.Password != "" {
		params[Password] = g.login.Password
	}
	if g.schema != "" {
		params[Schema] = g.schema
	}
	return params
}

// Abilities are those of the failover manager, and what the database reports.
func (g *servers) Abilities() service.Abilities {
	return service.Abilities{Promote: g.Promote, Offsets: g.Offsets, Nudge: g.Nudge, ClockOffset: g.ClockOffset}
}

func (g *servers) Answers(ctx context.Context, node string) error {
	var one int
	return g.Row(ctx, node, "SELECT 1", &one)
}

// ClockOffset returns by how much the clock of a server is wrong.
func (g *servers) ClockOffset(ctx context.Context, node string) (time.Duration, error) {
	return g.SQL.ClockOffset(ctx, node, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
}

// stateQuery returns the state of a server. After a restart, the received position begins again, and
// the replayed position does not.
const stateQuery = `SELECT NOT pg_is_in_recovery(),
	CASE WHEN pg_is_in_recovery() THEN greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) ELSE pg_current_wal_lsn() END - '0/0'::pg_lsn,
	coalesce((SELECT status = 'streaming' FROM pg_stat_wal_receiver), false),
	coalesce((SELECT sender_host FROM pg_stat_wal_receiver), ''), coalesce((SELECT sender_port FROM pg_stat_wal_receiver), 0)`

// asked gives the failover manager access to the database.
type asked struct{ *servers }

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

// Nudge commits a transaction that touches no table, without waiting for replicas.
func (g *servers) Nudge(ctx context.Context, leader string) error {
	return g.Order(ctx, leader, service.AskLimit, "BEGIN; SET LOCAL synchronous_commit = local; SELECT pg_logical_emit_message(true, 'lockbench', ''); COMMIT")
}
