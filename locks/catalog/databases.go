package catalog

import (
	"lockbench/locks"
	"lockbench/locks/mariadb"
	"lockbench/locks/postgres"
	mariadbService "lockbench/service/mariadb"
	"lockbench/service/operator"
	postgresService "lockbench/service/postgres"
)

var (
	poolOption = Option{Name: "pool", About: "on: no connection of its own, each statement goes to whatever one the pool hands out", Default: "off"}
	endOption  = Option{Name: "expiry", About: "off: the naive form, whose rows have no end", Default: "on"}
)

// databaseGroup is the heading of locks in databases in tables.
const databaseGroup = "In databases"

// fewConnections is why a thousand clients of a database are too many.
const fewConnections = "each client has a connection of its own, and a database takes 300"

// databaseLocks are those that people make of PostgreSQL and MariaDB.
func databaseLocks() []Lock {
	session := locks.Claims{Session: true}
	all := []Lock{
		{
			Card:    locks.Card{Name: "pg-advisory", Claims: session},
			About:   "pg_try_advisory_lock on a connection of its own, which it ends with",
			Service: postgresService.Name,
			Options: []Option{poolOption},
			New:     switched("pg-advisory", poolOption, postgres.NewAdvisory),
		},
		{
			Card:    locks.Card{Name: "pg-advisory-xact", Claims: session},
			Like:    "pg-advisory",
			About:   "pg_try_advisory_xact_lock, held until its transaction ends",
			Service: postgresService.Name,
			New:     without("pg-advisory-xact", postgres.NewAdvisoryXact),
		},
		{
			Card:    locks.Card{Name: "pg-row", Claims: locks.Claims{Bounded: true, Fenced: true}},
			About:   "a row of PostgreSQL with an end by the server's clock and a number of grants",
			Service: postgresService.Name,
			Plain:   true,
			New:     without("pg-row", postgres.NewRow),
		},
		{
			Card:    locks.Card{Name: "mysql-row", Claims: locks.Claims{Bounded: true}},
			Like:    "pg-row",
			About:   "a row of MariaDB under a unique index, with an end by the server's clock",
			Service: mariadbService.Name,
			Options: []Option{endOption},
			Plain:   true,
			New:     switched("mysql-row", endOption, func(on bool) locks.Opener { return mariadb.NewRow(!on) }),
		},
		{
			Card:    locks.Card{Name: "mysql-get-lock", Claims: session},
			Like:    "pg-advisory",
			About:   "GET_LOCK of MariaDB on a connection of its own, which it ends with",
			Service: mariadbService.Name,
			Options: []Option{poolOption},
			New:     switched("mysql-get-lock", poolOption, mariadb.NewGetLock),
		},
		{
			Card:    locks.Card{Name: "mysql-for-update", Claims: session},
			Like:    "pg-advisory",
			About:   "SELECT FOR UPDATE on a row of MariaDB, held until its transaction ends",
			Service: mariadbService.Name,
			New:     without("mysql-for-update", mariadb.NewForUpdate),
		},
	}
	for i := range all {
		l := &all[i]
		l.Family, l.Group = locks.SingleStore, databaseGroup
		l.Topologies = []locks.Topology{locks.Single, locks.Replicated, operator.Managed}
		l.Excused = map[string]string{"one-of-1000": fewConnections}
	}
	return all
}

// switched makes the New of a lock whose only option is on or off.
func switched(lock string, o Option, open func(on bool) locks.Opener) func(map[string]string) (locks.Opener, error) {
	return func(options map[string]string) (locks.Opener, error) {
		if err := checkNames(lock, []Option{o}, options); err != nil {
			return nil, err
		}
		v, given := options[o.Name]
		if !given {
			v = o.Default
		}
		if v != "on" && v != "off" {
			return nil, badValue(lock, o.Name, v, "on or off")
		}
		return open(v == "on"), nil
	}
}
