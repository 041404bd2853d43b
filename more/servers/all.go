//go:build !wasip1

package servers

import "go.etcd.io/etcd/server/v3/etcdmain"

// all are the servers.
var all = []Server{
	{"etcd", func(words []string) { etcdmain.Main(append([]string{"etcd"}, words...)) }},
	{"mongo", serveMongo},
	{"nats", serveNATS},
}
