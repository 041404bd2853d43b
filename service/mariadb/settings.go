package mariadb

import (
	"slices"

	"lockbench/service"
	"lockbench/service/operator"
)

// settings are the settings of MariaDB that a scenario may give, and those that lockbench decides.
var settings = []service.Setting{
	{Name: semiSync, About: "on: a commit waits until a replica has received it, or for the timeout; lockbench's own choice is off"},
	{Name: "rpl-semi-sync-master-timeout", About: "milliseconds that a commit waits for a replica before it goes on without"},
	{Name: "rpl-semi-sync-master-wait-point", About: "AFTER_COMMIT: others see a commit before a replica has received it; or AFTER_SYNC"},
	{Name: "sync-binlog", About: "after how many commits the binary log is forced to the disk; 0: as the system does"},
	{Name: "binlog-row-image", About: "FULL, MINIMAL or NOBLOB: what the binary log has of a row; lockbench's own choice is MINIMAL"},
	{Name: "slave-net-timeout", About: "seconds that a primary may be silent; lockbench's own choice is 5"},
	{Name: "innodb-flush-log-at-trx-commit", About: "1: commits are forced to the disk; 2 and 0: once a second"},
	{Name: "innodb-buffer-pool-size", About: "the memory for pages; lockbench's own choice is 16M"},
	{Name: "innodb-log-file-size", About: "how large the log is; lockbench's own choice is 8M"},
	{Name: "innodb-lock-wait-timeout", About: "seconds that a statement waits for a row"},
	{Name: "innodb-rollback-on-timeout", About: "ON: with such a statement its transaction is over"},
	{Name: "lock-wait-timeout", About: "seconds that a statement waits for a table"},
	{Name: "transaction-isolation", About: "READ-COMMITTED, REPEATABLE-READ or SERIALIZABLE"},
	{Name: "wait-timeout", About: "seconds that a session may do nothing until it is ended"},
	{Name: "idle-transaction-timeout", About: "seconds that a transaction may do nothing until its session is ended; 0: for ever"},
	{Name: "max-connections", About: "how many there can be at once; lockbench's own choice is 300"},
	{Name: "max-connect-errors", About: "how many failed ones there can be of one host"},
	{Name: "performance-schema", About: "ON: the server watches itself; lockbench's own choice is OFF"},
	{Name: "log-warnings", About: "how much it writes into its log; lockbench's own choice is 1"},
	{Name: "log-slave-updates", About: "whether a replica logs what it replays; lockbench's own choice is ON"},

	{Name: "user", About: "the user that it runs as", Decided: decided},
	{Name: "datadir", About: "where it keeps its data", Decided: decided},
	{Name: "bind-address", About: "where it serves clients", Decided: decided},
	{Name: "port", About: "the port", Decided: decided},
	{Name: "socket", About: "its socket", Decided: decided},
	{Name: "tmpdir", About: "where its temporary files are", Decided: decided},
	{Name: "pid-file", About: "the file with its number", Decided: decided},
	{Name: "skip-networking", About: "whether it has no port", Decided: decided},
	{Name: "skip-grant-tables", About: "whether everybody may do everything", Decided: decided},
	{Name: "skip-name-resolve", About: "whether it looks for the names of clients", Decided: decided},
	{Name: "server-id", About: "its number", Decided: decided},
	{Name: "log-bin", About: "its binary log", Decided: decided},
	{Name: "binlog-format", About: "what stands in it", Decided: decided},
	{Name: "skip-slave-start", About: "whether it starts without following a primary", Decided: decided},
	{Name: "read-only", About: "whether it follows", Decided: decided},
}

const decided = "lockbench decides where servers listen, which primary they follow and where they keep their files"

func (Service) Settings() []service.Setting { return slices.Concat(operator.Settings(), settings) }
