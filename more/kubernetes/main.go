// Command lockbench-kubernetes is the servers of Kubernetes as a lock service: an API server, and etcd. lockbench starts
// them; users need not.
//
//	lockbench-kubernetes kube-apiserver [FLAG ...]
//	lockbench-kubernetes etcd [FLAG ...]
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	switch os.Args[0] {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(app.NewAPIServerCommand()))
	default:
		fmt.Fprintln(os.Stderr, "the first argument must be etcd or kube-apiserver, and the flags of that program follow")
		os.Exit(64)
	}
}
