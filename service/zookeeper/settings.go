package zookeeper

import "lockbench/service"

// settings are the lines of a zoo.cfg that a scenario may give, and those that it may not.
var settings = []service.Setting{
	{Name: "tickTime", About: "milliseconds of a tick, in which all other times are counted; lockbench's own choice is 200"},
	{Name: "initLimit", About: "ticks that a follower may take to catch up with a new leader; lockbench's own choice is 10"},
	{Name: "syncLimit", About: "ticks without a sign of life until a member gives another one up; lockbench's own choice is 10"},
	{Name: "minSessionTimeout", About: "milliseconds, the shortest session that is granted; two ticks by default"},
	{Name: "maxSessionTimeout", About: "milliseconds, the longest one; lockbench's own choice is 60000"},
	{Name: "maxClientCnxns", About: "connections of one address, 0: any number, which is lockbench's own choice"},
	{Name: "globalOutstandingLimit", About: "requests that may wait in a server until it reads no more"},
	{Name: "snapCount", About: "transactions between two snapshots"},
	{Name: "preAllocSize", About: "kilobytes by which the log grows; lockbench's own choice is 256"},
	{Name: "forceSync", About: "no: writes are not forced to the disk"},
	{Name: "leaderServes", About: "no: the leader takes no clients"},
	{Name: "cnxTimeout", About: "milliseconds in which a connection for an election must be open"},

	{Name: "dataDir", About: "where a server keeps its data", Decided: decided},
	{Name: "dataLogDir", About: "where it keeps its log", Decided: decided},
	{Name: "clientPort", About: "where it serves clients", Decided: decided},
	{Name: "clientPortAddress", About: "the address of that", Decided: decided},
	{Name: "dynamicConfigFile", About: "where the members are listed", Decided: decided},
	{Name: "admin.enableServer", About: "whether there is an HTTP server", Decided: "a server opens no port that lockbench does not know"},
	{Name: "4lw.commands.whitelist", About: "which words of four letters are answered", Decided: "lockbench asks servers by them"},
}

const decided = "lockbench decides who the members are, where they listen and where they keep their files"

// Settings are those lines.
func (Service) Settings() []service.Setting { return settings }
