//go:build linux

package libraries

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockbench/internal/service"
	"lockbench/internal/service/etcd"
	"lockbench/internal/service/nats"
	"lockbench/internal/service/zookeeper"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/testing/sitetest"
	"lockbench/internal/world/process"
)

// Stock libraries work with external servers that hooks break: they get the addresses of the proxies.
func TestExternalServers(t *testing.T) {
	lockbench, more := builtPrograms(t)
	run := func(t *testing.T, site *sitetest.Site, url string, words []string, scenarios ...string) {
		for _, scenario := range scenarios {
			t.Run(scenario, func(t *testing.T) {
				if scenario != "leader-kill" && os.Getenv("LOCKBENCH_LONG") == "" {
					t.Skip("it takes half a minute: LOCKBENCH_LONG=1")
				}
				site.Run(t, lockbench, scenario, url, words...)
			})
		}
	}
	t.Run("etcd", func(t *testing.T) {
		site := sitetest.New(t, etcd.Service, etcd.Quorum, more)
		url := "etcd://" + site.Hosts()
		put(t, site, "lockbench0", "lockbench") // such as a careless prefix would take as well
		run(t, site, url, []string{"--locks", "no-lock,etcd-mutex/orphan=on"}, "leader-kill", "steady", "failover")
		if left := slices.Concat(slices.Collect(maps.Values(site.Under(t, url, "lockbench")))...); len(left) != 2 {
			t.Errorf("of two keys of the owner's there are %q", left)
		}
		put(t, site, "lockbench:7:a")
		said, code := doctor(t, lockbench, "--servers", url)
		for _, want := range []string{`"lockbench:7:a"`, "del --prefix 'lockbench:7:'", "nothing was changed there"} {
			if code != 3 || !strings.Contains(said, want) {
				t.Errorf("with a foreign key doctor ends with %d, want 3 and %q:\n%s", code, want, said)
			}
		}
		if n, err := site.External(t, url, "lockbench:8:").Clear(t.Context()); n != 0 || err != nil {
			t.Errorf("of another run %d keys were removed (%v)", n, err)
		}
		if n, err := site.External(t, url, "lockbench:7:").Clear(t.Context()); n != 1 || err != nil {
			t.Errorf("%d keys were removed (%v), want 1", n, err)
		}
		// Members announce addresses of world local's network, which only accepts known clients.
		said, code = doctor(t, lockbench, "--servers", "etcd://"+site.Addrs["etcd-3"])
		if code != 3 || !strings.Contains(said, "name all members") {
			t.Errorf("asked for one member doctor ends with %d, want 3:\n%s", code, said)
		}
		said, code = doctor(t, lockbench, "--servers", url)
		if code != 0 || strings.Count(said, ", leads)") != 1 || !strings.Contains(said, "etcd quorum of 3") {
			t.Errorf("doctor ends with %d:\n%s", code, said)
		}
	})
	t.Run("etcd by TLS", func(t *testing.T) { secureEtcd(t, lockbench, more) })
	t.Run("nats", func(t *testing.T) {
		site := sitetest.New(t, nats.Service, nats.Quorum, more)
		run(t, site, "nats://"+site.Hosts(), []string{"--locks", "no-lock,nats-kv"}, "leader-kill", "steady", "failover")
		natsApart(t, site, lockbench)
	})
	t.Run("nats by TLS", func(t *testing.T) { secureNATS(t, lockbench, more) })
	t.Run("mongo", func(t *testing.T) { mongoApart(t, lockbench, more) })
	t.Run("zookeeper", func(t *testing.T) {
		if os.Getenv("LOCKBENCH_LONG") == "" {
			t.Skip("it takes minutes: LOCKBENCH_LONG=1")
		}
		site := sitetest.New(t, zookeeper.Service, zookeeper.Quorum, "")
		run(t, site, "zookeeper://"+site.Hosts(), []string{"--clients", "3", "--locks", "no-lock,zk-curator,zk-kazoo"}, "steady", "leader-kill")
	})
}

// put writes keys of the owner.
func put(t *testing.T, site *sitetest.Site, keys ...string) {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(site.Hosts(), ","), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, key := range keys {
		if _, err := c.Put(t.Context(), key, "theirs"); err != nil {
			t.Fatal(err)
		}
	}
}

// doctor runs doctor and returns its output and exit code.
func doctor(t *testing.T, lockbench string, words ...string) (said string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), lockbench, append([]string{"doctor"}, words...)...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// secureEtcd puts TLS with client certificates in front of a server.
func secureEtcd(t *testing.T, lockbench, more string) {
	certs := redistest.NewCerts(t, time.Now().Add(time.Hour))
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	addr := l.Addr().String()
	server := exec.CommandContext(t.Context(), more, "serve", "etcd", "--data-dir="+t.TempDir(), "--log-level=error",
		"--listen-client-urls=https://"+addr, "--advertise-client-urls=https://"+addr, "--listen-peer-urls=http://127.0.0.1:0",
		"--cert-file="+certs.Server.Cert, "--key-file="+certs.Server.Key, "--trusted-ca-file="+certs.CA, "--client-cert-auth")
	p, err := process.Start(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(context.Background()); err != nil {
			t.Error(err)
		}
	})
	flags := []string{"--servers", "etcds://" + addr, "--tls-ca", certs.CA, "--tls-name", redistest.CertName}
	known := append(flags, "--tls-cert", certs.Client.Cert, "--tls-key", certs.Client.Key)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = service.Poll(ctx, func() error {
		if said, code := doctor(t, lockbench, known...); code != 0 {
			return fmt.Errorf("doctor ends with %d: %s", code, said)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for want, words := range map[string][]string{
		"--tls-cert": flags, "if it wants TLS, the URL must ask for it": {"--servers", "etcd://" + addr},
	} {
		if said, code := doctor(t, lockbench, words...); code != 3 || !strings.Contains(said, want) {
			t.Errorf("%q: doctor ends with %d, want 3 and %q:\n%s", words, code, want, said)
		}
	}
	// Slow links are detected by retransmissions.
	steady := []string{"run", "steady", "--locks", "no-lock,etcd-mutex", "--episodes", "1"}
	for _, fault := range [][]string{nil, {"--fault", "bandwidth: clients -> master, for: 1s, rate: 2kB/s"}, {"--fault", "bandwidth: master -> clients, for: 1s, rate: 2kB/s"}} {
		words := slices.Concat(steady, fault)
		cmd := exec.CommandContext(t.Context(), lockbench, append(words, known...)...)
		cmd.Dir = t.TempDir()
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", words, err, said)
		}
	}
}
