//go:build !wasip1

package servers

import "go.etcd.io/etcd/server/v3/etcdmain"

// all are the programs by the names of their services.
var all = map[string]func(words []string){
	"etcd":  func(words []string) { etcdmain.Main(append([]string{"etcd"}, words...)) },
	"mongo": serveMongo,
	"nats":  serveNATS,
}
