package mongo

import "lockbench/service"

// settings are the flags of mongod that a scenario may give, and those that it may not. The
// server that lockbench-more serves has none of the former.
var settings = []service.Setting{
	{Name: "storageEngine", About: "how a mongod stores its data"},
	{Name: "wiredTigerCacheSizeGB", About: "how much memory a mongod takes for data"},
	{Name: "setParameter", About: "NAME=VALUE: one of the parameters of a mongod"},

	{Name: "bind_ip", About: "where it listens", Decided: decided},
	{Name: "port", About: "on which port", Decided: decided},
	{Name: "dbpath", About: "where it keeps its data", Decided: decided},
}

const decided = "lockbench decides where servers listen and where they keep their files"

func (Service) Settings() []service.Setting { return settings }
