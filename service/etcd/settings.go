package etcd

import "lockbench/service"

// settings are the flags of etcd that a scenario may give, and those that lockbench decides.
var settings = []service.Setting{
	{Name: "heartbeat-interval", About: "milliseconds between two signs of life of the leader; lockbench's own choice is 50"},
	{Name: "election-timeout", About: "milliseconds without one until a member stands for election; lockbench's own choice is 500"},
	{Name: "pre-vote", About: "true: who stands for election asks first whether it could win"},
	{Name: "snapshot-count", About: "how many writes are committed between two snapshots"},
	{Name: "unsafe-no-fsync", About: "true: writes are not forced to the disk"},
	{Name: "quota-backend-bytes", About: "how large the data may grow until nothing more is written"},
	{Name: "auto-compaction-retention", About: "how long old revisions are kept; 0: for ever"},
	{Name: "auto-compaction-mode", About: "periodic or revision: what the retention counts"},
	{Name: "max-request-bytes", About: "the largest request that is taken"},
	{Name: "log-level", About: "debug, info, warn, error: what servers write into their logs"},

	{Name: "name", About: "what a member is called", Decided: decided},
	{Name: "data-dir", About: "where it keeps its data", Decided: decided},
	{Name: "listen-client-urls", About: "where it serves clients", Decided: decided},
	{Name: "advertise-client-urls", About: "where clients find it", Decided: decided},
	{Name: "listen-peer-urls", About: "where it listens to other members", Decided: decided},
	{Name: "initial-advertise-peer-urls", About: "where they find it", Decided: decided},
	{Name: "initial-cluster", About: "who the members are at first", Decided: decided},
	{Name: "initial-cluster-state", About: "whether they are new", Decided: decided},
	{Name: "logger", About: "what writes the log", Decided: decided},
	{Name: "log-outputs", About: "where to", Decided: decided},
}

const decided = "lockbench decides who the members are, where they listen and where they keep their files"

func (Service) Settings() []service.Setting { return settings }
