//go:build linux

package libraries

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

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
		sitetest.Refused(t, lockbench, []string{url}, `"lockbench:7:a"`, "del --prefix 'lockbench:7:'")
		site.Clears(t, url, 1)
		// Members announce addresses of world local's network, which only accepts known clients.
		sitetest.Refused(t, lockbench, []string{"etcd://" + site.Addrs["etcd-3"]}, "name all members")
		said, code := sitetest.Doctor(t, lockbench, url)
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

// secureEtcd puts TLS with client certificates in front of a server.
func secureEtcd(t *testing.T, lockbench, more string) {
	certs := redistest.NewCerts(t, time.Now().Add(time.Hour))
	addr := freeAddress(t)
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
	flags := []string{"etcds://" + addr, "--tls-ca", certs.CA, "--tls-name", redistest.CertName}
	known := append(flags, "--tls-cert", certs.Client.Cert, "--tls-key", certs.Client.Key)
	sitetest.Accepted(t, lockbench, known...)
	sitetest.Refused(t, lockbench, flags, "--tls-cert")
	sitetest.Refused(t, lockbench, []string{"etcd://" + addr}, "if it wants TLS, the URL must ask for it")
	// Slow links are detected by retransmissions.
	steady := []string{"run", "steady", "--locks", "no-lock,etcd-mutex", "--episodes", "1"}
	for _, fault := range [][]string{nil, {"--fault", "bandwidth: clients -> master, for: 1s, rate: 2kB/s"}, {"--fault", "bandwidth: master -> clients, for: 1s, rate: 2kB/s"}} {
		words := slices.Concat(steady, fault, []string{"--servers"}, known)
		if said, err := runs(t, lockbench, words...); err != nil {
			t.Errorf("%q: %v\n%s", words, err, said)
		}
	}
}
