package consul

import "lockbench/service"

// settings are the settings of Consul that a scenario may give, and those that lockbench decides. A
// point separates a block from its entries.
var settings = []service.Setting{
	{Name: "session_ttl_min", About: "the shortest ttl that a session may have; lockbench's own choice is 1s, Consul's 10s"},
	{Name: "performance.raft_multiplier", About: "by how much the times of raft are multiplied, 1 to 10; lockbench's own choice is 1, Consul's 5"},
	{Name: "performance.rpc_hold_timeout", About: "how long a request waits for a leader where there is none"},
	{Name: "default_query_time", About: "how long a request that waits for a change waits, if it does not say it itself; Consul's own is 300s"},
	{Name: "raft_snapshot_threshold", About: "how many writes there are between two snapshots"},
	{Name: "raft_snapshot_interval", About: "how often a server looks whether there were as many"},
	{Name: "limits.kv_max_value_size", About: "the largest value of a key that is taken, in bytes"},
	{Name: "log_level", About: "trace, debug, info, warn, error: what servers write into their logs"},

	{Name: "server", About: "whether an agent is a server", Decided: decided},
	{Name: "bootstrap_expect", About: "how many servers there are at first", Decided: decided},
	{Name: "datacenter", About: "what their datacenter is called", Decided: decided},
	{Name: "node_name", About: "what an agent is called", Decided: decided},
	{Name: "data_dir", About: "where it keeps its data", Decided: decided},
	{Name: "bind_addr", About: "where it listens to others", Decided: decided},
	{Name: "advertise_addr", About: "where they find it", Decided: decided},
	{Name: "client_addr", About: "where it serves clients", Decided: decided},
	{Name: "ports", About: "on which ports", Decided: decided},
	{Name: "limits.http_max_conns_per_client", About: "how many connections one address may have", Decided: "all connections of a run may come from one address"},
	{Name: "disable_update_check", About: "whether newer versions are looked for", Decided: "servers of a run contact no server outside"},
	{Name: "connect", About: "whether proxies are served", Decided: "no lock uses them"},
}

const decided = "lockbench decides who the servers are, where they listen and where they keep their files"

func (Service) Settings() []service.Setting { return settings }
