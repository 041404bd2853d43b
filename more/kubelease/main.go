// Command lockbench-kube-lease serves one client of the leader election of client-go on a Lease of Kubernetes. lockbench
// starts it; users need not.
//
//	lockbench-kube-lease kube-lease lease=3s renew=2s retry=500ms
//
// The library is unchanged. The adapter only translates: a client holds from OnStartedLeading until OnStoppedLeading, or
// until it releases.
package main

import (
	"context"
	"fmt"
	"os"

	"lockbench/internal/guest" // and not package lockbench, which links much more
	"lockbench/internal/service/kubernetes"
	"lockbench/locks"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lockbench-kube-lease:", err)
		os.Exit(1)
	}
}

func serve(words []string) error {
	const name = "kube-lease"
	if len(words) == 0 || words[0] != name {
		return fmt.Errorf("the first argument must be %s, and options follow: lease=3s", name)
	}
	opener, err := open(words[1:])
	if err != nil {
		return err
	}
	hello := guest.HelloOf(locks.Card{Name: name, Family: locks.SingleStore, Claims: claims})
	hello.Service, hello.SourceAddress, hello.AddrMap = kubernetes.Name, true, true
	return guest.Main(context.Background(), hello, guest.Always(opener))
}
