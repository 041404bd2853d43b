package nats

import "lockbench/service"

// settings are what a scenario may give in the configuration file of NATS, and what it may
// not. A name before a dot is the block in which the other stands.
var settings = []service.Setting{
	{Name: "ping_interval", About: "how often servers check an idle connection of a client"},
	{Name: "ping_max", About: "how many of these may stay without an answer"},
	{Name: "write_deadline", About: "how long a connection may take nothing until it is closed"},
	{Name: "max_payload", About: "the largest message that is taken"},
	{Name: "debug", About: "true: servers write more into their logs"},
	{Name: "trace", About: "true: they write every request there"},
	{Name: "jetstream.sync_interval", About: "how long a write may wait until it is forced to the disk, or always; NATS' own choice is 2m"},
	{Name: "jetstream.max_file", About: "how much a server keeps on disk; lockbench's own choice is 256MB"},
	{Name: "jetstream.max_mem", About: "how much it keeps in memory; lockbench's own choice is 64MB"},
	{Name: "cluster.pool_size", About: "connections between two servers; lockbench's own choice is -1, a single one"},
	{Name: "cluster.ping_interval", About: "how often servers check an idle connection of another"},

	{Name: "server_name", About: "what a server is called", Decided: decided},
	{Name: "listen", About: "where it serves clients", Decided: decided},
	{Name: "accounts", About: "who may connect", Decided: decided},
	{Name: "system_account", About: "who operates servers", Decided: decided},
	{Name: "no_auth_user", About: "who a client is that does not say", Decided: decided},
	{Name: "jetstream.store_dir", About: "where it keeps its data", Decided: decided},
	{Name: "cluster.name", About: "what the servers are called together", Decided: decided},
	{Name: "cluster.listen", About: "where it listens to other servers", Decided: decided},
	{Name: "cluster.advertise", About: "where they find it", Decided: decided},
	{Name: "cluster.routes", About: "where it finds them", Decided: decided},
	{Name: "cluster.no_advertise", About: "whether clients are told of other servers", Decided: decided},
}

const decided = "lockbench decides who the servers are, where they listen, who may ask them and where they keep their files"

// Settings are those names.
func (Service) Settings() []service.Setting { return settings }
