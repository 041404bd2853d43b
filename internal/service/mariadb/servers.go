package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/service/operator"
)

// servers are the running servers of one cluster.
type servers struct{ *operator.Servers }

var _ service.Servers = (*servers)(nil)

var dialect = operator.Dialect{
	Clock: "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
	Nudge: "DROP TABLE IF EXISTS " + database + ".lockbench_nudge",
}

// newServers returns servers at which tables of locks are in a database.
func newServers(t service.Topology, h service.Host, as service.Credentials, database string) *servers {
	d := dialect
	d.Open = func(dial operator.Dial) (*sql.DB, error) { return open(as, dial) }
	params := map[string]string{User: as.User, Password: as.Password, Database: database}
	return &servers{operator.NewServers(t, h, d, params, func(s *operator.Servers) operator.Database { return &asked{Servers: s} })}
}

// asked gives the failover manager access to the database.
type asked struct {
	*operator.Servers
	lives atomic.Int64 // number of starts of servers
}

func (g *asked) State(ctx context.Context, node string) (operator.State, error) {
	var s operator.State
	err := g.Session(ctx, node, service.AskLimit, func(ctx context.Context, c *sql.Conn) error {
		own, err := row(ctx, c, "SELECT @@read_only AS ro, @@gtid_binlog_pos AS logged, @@gtid_slave_pos AS replayed")
		if err != nil {
			return err
		}
		s.Leads, s.Received = writable(own["ro"]), max(sequence(own["logged"]), sequence(own["replayed"]))
		if !g.Topology().Follows() {
			return nil // users of external servers lack the right for the next query
		}
		follows, err := row(ctx, c, "SHOW SLAVE STATUS")
		if err != nil {
			return err
		}
		if follows == nil {
			return nil
		}
		s.Leads = false
		s.Received = max(s.Received, sequence(follows["Gtid_IO_Pos"]))
		s.Streams = follows["Slave_IO_Running"] == "Yes" && follows["Slave_SQL_Running"] == "Yes"
		s.Follows, _ = netip.ParseAddrPort(follows["Master_Host"] + ":" + follows["Master_Port"])
		// An unreachable primary also causes an error, which is temporary.
		if why := cmp.Or(follows["Last_SQL_Error"], follows["Last_IO_Error"]); !s.Streams && why != "" &&
			(follows["Last_SQL_Errno"] != "0" || follows["Last_IO_Errno"] == lostLog) {
			s.Broken = errors.New(why)
		}
		return nil
	})
	return s, err
}

// lostLog is the error number of a primary that lacks the log that a replica requests.
const lostLog = "1236"

// sequence returns the last number of a position such as 0-101-77. There is one domain.
func sequence(position string) int64 {
	n, _ := strconv.ParseInt(position[strings.LastIndexByte(position, '-')+1:], 10, 64)
	return n
}

// turnLimit bounds changing the leader of a node: it replays received transactions, and starts and
// stops threads, which wait for the disk and for each other.
const turnLimit = 15 * time.Second

// Promote makes a replica the primary after it has replayed everything that it has received.
func (g *asked) Promote(ctx context.Context, node string) error {
	if err := g.Order(ctx, node, turnLimit, "STOP SLAVE IO_THREAD"); err != nil {
		return err
	}
	return g.Session(ctx, node, turnLimit, func(ctx context.Context, c *sql.Conn) error {
		err := service.Poll(ctx, func() error {
			s, err := row(ctx, c, "SHOW SLAVE STATUS")
			switch {
			case err != nil:
				return err
			// Positions are not enough: the last transaction may have arrived in part.
			case s != nil && s["Slave_SQL_Running"] == "Yes" && !strings.HasPrefix(s["Slave_SQL_Running_State"], "Slave has read all relay log"):
				return errors.New("it has not replayed what it has received")
			}
			return nil
		})
		if err != nil {
			return err
		}
		statements := []string{"STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"}
		if g.semiSync() {
			statements = append(statements, "SET GLOBAL rpl_semi_sync_slave_enabled = 0", "SET GLOBAL rpl_semi_sync_master_enabled = 1")
		}
		return operator.Exec(ctx, c, statements...)
	})
}

func (g *asked) semiSync() bool { return g.Setting(semiSync) == "on" }

// Follow makes a server follow a primary from the position that it has replayed.
func (g *asked) Follow(ctx context.Context, node string, leader netip.AddrPort) error {
	statements := []string{"STOP SLAVE", "SET GLOBAL read_only = 1"}
	if g.semiSync() {
		statements = append(statements, "SET GLOBAL rpl_semi_sync_master_enabled = 0", "SET GLOBAL rpl_semi_sync_slave_enabled = 1")
	}
	statements = append(statements, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%d, MASTER_USER='%s', MASTER_CONNECT_RETRY=1, "+
		"MASTER_USE_GTID=slave_pos, MASTER_HEARTBEAT_PERIOD=1", leader.Addr(), leader.Port(), user), "START SLAVE")
	return g.Order(ctx, node, turnLimit, statements...)
}

// Started gives a server a number that no server had before: with its old number, a server that lost
// its data would skip its own earlier writes. Then the server leads or follows.
func (g *asked) Started(ctx context.Context, node string, follows *netip.AddrPort) error {
	if !g.Topology().Follows() {
		return nil
	}
	statements := []string{fmt.Sprintf("SET GLOBAL server_id = %d", 1+g.lives.Add(1))}
	if follows == nil {
		statements = append(statements, "SET GLOBAL read_only = 0")
		if g.semiSync() {
			statements = append(statements, "SET GLOBAL rpl_semi_sync_master_enabled = 1")
		}
	}
	if err := g.Order(ctx, node, service.AskLimit, statements...); err != nil || follows == nil {
		return err
	}
	return g.Follow(ctx, node, *follows)
}
