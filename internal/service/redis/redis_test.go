package redis_test

import (
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

func TestService(t *testing.T) {
	servicetest.Suite{
		Service: redis.Service,
		Versions: map[string]servicetest.Version{
			"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64": {Text: "7.0.15", Enough: true},
			"Redis server v=6.2.14 sha=00000000:0":                               {Text: "6.2.14"},
			"Redis server v=10.0.0 sha=00000000:0":                               {Text: "10.0.0", Enough: true},
			"etcd Version: 3.6.16":                                               {},
		},
		URLs: []servicetest.Located{
			{URLs: "redis://a", Addrs: "a:6379", Topology: "1 master"},
			{URLs: "rediss://u@a:1/3", Addrs: "a:1", Topology: "1 master", User: "u", Database: "3", TLS: true},
			{URLs: "redis://a redis://b:1 redis://[::1]", Addrs: "a:6379 b:1 [::1]:6379", Topology: "3 masters"},
			{URLs: "redis+sentinel://a,b:1/mymaster", Addrs: "a:26379 b:1", Topology: "sentinel 1+2"},
			{URLs: "rediss+cluster://a,b:1", Addrs: "a:6379 b:1", Topology: "cluster 3+3", TLS: true},
			{URLs: "redis://a redis://a:6379", Refused: "named twice"},
			{URLs: "redis://a,b", Refused: "one URL for each server"},
			{URLs: "redis://a rediss://b", Refused: "the same scheme"},
			{URLs: "redis+cluster://a redis+cluster://b", Refused: "several URLs are independent masters"},
			{URLs: "redis+sentinel://a", Refused: "/MASTER"},
			{URLs: "redis+cluster://a/1", Refused: "only database 0"},
			{URLs: "redis://a/01", Refused: "/01 is not the number of a database"},
			{URLs: "redis+ring://a", Refused: `not "ring"`},
			{URLs: "redis://:p@a", Refused: "a password in a URL"},
		},
		Settings: servicetest.Settings{
			Topology: locks.Replicated, Trusted: servicetest.Decided(redis.Service),
			Line: func(_ service.Node, name, value string) string { return name + " " + value },
		},
	}.Run(t)
}
