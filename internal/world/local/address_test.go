//go:build linux

package local

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// A port that was found free can be listened on, however many processes are being
// started meanwhile: a child has what its parent had open until it becomes another program.
func TestFreePortWhileProcessesStart(t *testing.T) {
	addr := netip.AddrFrom4([4]byte{127, 255, 4, 65})
	done := make(chan struct{})
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				cmd := exec.Command(os.Args[0], "-test.run=^$")
				if err := cmd.Run(); err != nil {
					t.Errorf("start a process: %v", err)
					return
				}
			}
		})
	}
	for range 500 {
		port, err := freePort([]netip.Addr{addr})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, port)))
		if err != nil {
			t.Errorf("it was free a moment ago: %v", err)
			break
		}
		l.Close()
	}
	close(done)
	starting.Wait()
}
