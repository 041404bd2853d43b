//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// doorstep is the listener to which the programs of these tests connect.
type doorstep struct {
	*testing.T
	owners   *Owners
	listener net.Listener
}

func newDoorstep(t *testing.T) *doorstep {
	t.Helper()
	d := &doorstep{T: t, owners: &Owners{}}
	if err := d.owners.Ready(); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.listener, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.listener.Close() })
	return d
}

// start starts a bash script in which DIAL connects.
func (d *doorstep) start(party, script string) *Process {
	d.Helper()
	host, port, _ := strings.Cut(d.listener.Addr().String(), ":")
	script = strings.ReplaceAll(script, "DIAL6", "exec 3<>/dev/tcp/::ffff:"+host+"/"+port)
	script = strings.ReplaceAll(script, "DIAL", "exec 3<>/dev/tcp/"+host+"/"+port)
	p, err := d.owners.Start(party, exec.Command("bash", "-c", script))
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		if err := p.Kill(context.Background()); err != nil {
			d.Error(err)
		}
	})
	return p
}

func (d *doorstep) accept() net.Conn {
	d.Helper()
	_ = d.listener.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	c, err := d.listener.Accept()
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { c.Close() })
	return c
}

func (d *doorstep) whose(c net.Conn) (string, error) {
	return d.owners.Party(addrPort(c.RemoteAddr()), addrPort(c.LocalAddr()))
}

func TestOwners(t *testing.T) {
	other := "setpriv --reuid=65534 --regid=65534 --clear-groups "
	for name, script := range map[string]string{
		"itself":                    `DIAL; sleep 1000`,
		"by IPv6":                   `DIAL6; sleep 1000`,
		"a child":                   `bash -c 'DIAL; sleep 1000' & wait`,
		"a child that calls setsid": `setsid bash -c 'DIAL; sleep 1000' & wait`,
		"one whose parent is dead":  `(setsid bash -c 'DIAL; sleep 1000' &); sleep 1000`,
		"several that share it":     `DIAL; sleep 1000 & sleep 1000 & wait`,
		"a child that has it alone": `bash -c 'DIAL; sleep 1000 & exec 3>&-; wait' & wait`,
		"a process of another user": `exec ` + other + `bash -c 'DIAL; sleep 1000'`,
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(script, other) && os.Geteuid() != 0 {
				t.Skip("only root can start one")
			}
			d := newDoorstep(t)
			d.start("another", `sleep 1000`)
			d.start("it", script)
			if party, err := d.whose(d.accept()); party != "it" || err != nil {
				t.Errorf("%q, %v", party, err)
			}
		})
	}
}

func TestOwnersUnknown(t *testing.T) {
	d := newDoorstep(t)
	d.start("it", `sleep 1000`)
	// A connection of this program, which is not a party.
	ours, err := net.Dial("tcp4", d.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs := d.accept()
	if party, err := d.whose(theirs); !errors.Is(err, errNoOwner) {
		t.Errorf("a stranger's: %q, %v", party, err)
	}
	ours.Close()
	if party, err := d.whose(theirs); !errors.Is(err, errClosed) {
		t.Errorf("one that was closed: %q, %v", party, err)
	}
	theirs.Close()
	if party, err := d.whose(theirs); !errors.Is(err, errClosed) {
		t.Errorf("one that is no more: %q, %v", party, err)
	}
	// An older look is not used.
	for _, answer := range []string{"", strings.Repeat("\x00", 20), strings.Repeat("\x14", 90)} {
		if _, err := readInode([]byte(answer)); err == nil {
			t.Errorf("%q is not an answer", answer)
		}
	}
}

// A connection that two parties have open has no owner.
func TestOwnersOfWhatTwoHave(t *testing.T) {
	d := newDoorstep(t)
	c, err := net.Dial("tcp4", d.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file, err := c.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, party := range []string{"one", "two"} {
		cmd := exec.Command("sleep", "1000")
		cmd.ExtraFiles = []*os.File{file}
		p, err := d.owners.Start(party, cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Kill(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	file.Close()
	party, err := d.whose(d.accept())
	if err == nil || !strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two") {
		t.Errorf("%q, %v", party, err)
	}
}

// A caller never gets a look that began before it called.
func TestOwnersAtTheSameTime(t *testing.T) {
	d := newDoorstep(t)
	const parties, each = 5, 6
	for i := range parties {
		d.start(fmt.Sprint(i), fmt.Sprintf(`for i in $(seq %d); do (DIAL; echo %d >&3; sleep 1000) & done; wait`, each, i))
	}
	var wg sync.WaitGroup
	for range parties * each {
		c := d.accept()
		wg.Go(func() {
			party, err := d.whose(c)
			_ = c.SetReadDeadline(time.Now().Add(patience))
			line := make([]byte, 1)
			if _, bad := c.Read(line); bad != nil || err != nil || party != string(line) {
				t.Errorf("%q, %v, of one of %q, %v", party, err, line, bad)
			}
		})
	}
	wg.Wait()
}

// BenchmarkOwners looks up 300 connections of 20 processes, each with 25 other open files.
func BenchmarkOwners(b *testing.B) {
	for b.Loop() {
		var took []time.Duration
		owners := &Owners{}
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		host, port, _ := strings.Cut(l.Addr().String(), ":")
		var all []*Process
		for i := range 20 {
			p, err := owners.Start(fmt.Sprint(i), exec.Command("bash", "-c",
				`for i in $(seq 25); do exec {f}</dev/null; done; for i in $(seq 15); do exec {f}<>/dev/tcp/`+host+`/`+port+`; sleep 0.02; done; sleep 1000`))
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, p)
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 300 {
			c, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			began := time.Now()
			wg.Go(func() {
				_, err := owners.Party(addrPort(c.RemoteAddr()), addrPort(c.LocalAddr()))
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(began))
				if err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		l.Close()
		for _, p := range all {
			if err := p.Kill(context.Background()); err != nil {
				b.Error(err)
			}
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
	}
}
