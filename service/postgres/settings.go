package postgres

import (
	"slices"

	"lockbench/service"
	"lockbench/service/operator"
)

// settings are the settings of PostgreSQL that a scenario may give, and those that lockbench decides.
var settings = []service.Setting{
	{Name: "synchronous_commit", About: "how far a commit must have come before it is answered: on, off, local, remote_write, remote_apply"},
	{Name: "synchronous_standby_names", About: "which replicas must confirm a commit, such as ANY 1 (*); empty: none"},
	{Name: "wal_keep_size", About: "how much of the log is kept for replicas, which stream it again when they lose their data; lockbench's own choice is 1GB"},
	{Name: "wal_sender_timeout", About: "how long a replica may be silent; lockbench's own choice is 5s"},
	{Name: "wal_receiver_timeout", About: "how long a primary may be silent; lockbench's own choice is 5s"},
	{Name: "fsync", About: "off: writes are not forced to the disk"},
	{Name: "full_page_writes", About: "off: whole pages are not written to the log after a checkpoint"},
	{Name: "shared_buffers", About: "the memory for pages; lockbench's own choice is 8MB"},
	{Name: "max_connections", About: "how many there can be at once; lockbench's own choice is 300"},
	{Name: "max_wal_size", About: "how much is logged between two checkpoints; lockbench's own choice is 64MB"},
	{Name: "min_wal_size", About: "how much of the log is kept to be overwritten; lockbench's own choice is 8MB"},
	{Name: "checkpoint_timeout", About: "the longest time between two checkpoints; lockbench's own choice is 30min"},
	{Name: "autovacuum", About: "on: rows that no transaction can see are removed now and then; lockbench's own choice is off"},
	{Name: "dynamic_shared_memory_type", About: "posix, sysv or mmap"},
	{Name: "deadlock_timeout", About: "how long a session waits for a lock until it looks for a deadlock"},
	{Name: "lock_timeout", About: "how long a statement waits for a lock at most; 0: for ever"},
	{Name: "statement_timeout", About: "how long a statement takes at most; 0: for ever"},
	{Name: "idle_in_transaction_session_timeout", About: "how long a transaction may do nothing until its session is ended; 0: for ever"},
	{Name: "idle_session_timeout", About: "how long a session may do nothing until it is ended; 0: for ever"},
	{Name: "client_connection_check_interval", About: "how often it is looked whether the client of a statement that runs is there still; 0: never"},
	{Name: "tcp_keepalives_idle", About: "seconds of silence until a client is probed; 0: as the system does"},
	{Name: "tcp_keepalives_interval", About: "seconds until it is probed again"},
	{Name: "tcp_keepalives_count", About: "how often it may be silent until its session is ended"},
	{Name: "tcp_user_timeout", About: "milliseconds that what was sent may go without an answer; 0: as the system does"},
	{Name: "default_transaction_isolation", About: "read committed, repeatable read or serializable"},

	{Name: "listen_addresses", About: "where it serves clients", Decided: decided},
	{Name: "port", About: "the port", Decided: decided},
	{Name: "unix_socket_directories", About: "where its sockets are: nowhere", Decided: decided},
	{Name: "primary_conninfo", About: "which primary it follows", Decided: decided},
	{Name: "hba_file", About: "who may connect", Decided: decided},
	{Name: "logging_collector", About: "whether it writes its log itself", Decided: decided},
	{Name: "update_process_title", About: "whether it shows what it does", Decided: decided},
}

const decided = "lockbench decides where servers listen, which primary they follow and where they keep their files"

func (Service) Settings() []service.Setting { return slices.Concat(operator.Settings(), settings) }
