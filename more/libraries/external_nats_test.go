//go:build linux

package libraries

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lockbench/internal/testing/redistest"
	"lockbench/internal/testing/sitetest"
	"lockbench/internal/world/process"
)

// With and without a user, keys of others stay unchanged.
func natsApart(t *testing.T, site *sitetest.Site, lockbench string) {
	url := "nats://" + site.Hosts()
	refused := func(servers string, want ...string) {
		t.Helper()
		sitetest.Refused(t, lockbench, []string{servers}, want...)
	}
	refused("nats://"+site.Addrs["nats-1"], `one server of the cluster "lockbench"`, "name all")
	said, code := sitetest.Doctor(t, lockbench, url)
	if code != 0 || !strings.Contains(said, "nats quorum of 3") {
		t.Errorf("doctor ends with %d:\n%s", code, said)
	}
	user := "nats://clients@" + site.Hosts()
	t.Setenv("LOCKBENCH_NATS_PASSWORD", "wrong-s3cr3t")
	refused(user, "it refuses the login: Authorization Violation", "LOCKBENCH_NATS_PASSWORD")
	t.Setenv("LOCKBENCH_NATS_PASSWORD", "operators")
	refused("nats://operators@"+site.Hosts(), "JetStream not enabled for account")
	t.Setenv("LOCKBENCH_NATS_PASSWORD", "clients")
	if out, err := runs(t, lockbench, "run", "steady", "--locks", "no-lock,nats-kv", "--episodes", "1", "--servers", user); err != nil {
		t.Errorf("with a user: %v, want exit code 0:\n%s", err, out)
	}
	t.Setenv("LOCKBENCH_NATS_PASSWORD", "")

	conn, err := natsgo.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, bucket := range []string{"lockbench", "lockbench-7-locks"} { // the first is one of the owner's
		if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bucket}); err != nil {
			t.Fatal(err)
		}
	}
	refused(url, `"lockbench-7-locks"`, "nats kv del")
	site.Clears(t, url, 1)
	var left []string
	for name := range js.KeyValueStoreNames(t.Context()).Name() {
		left = append(left, name)
	}
	if !slices.Equal(left, []string{"lockbench"}) {
		t.Errorf("of the owner's buckets there are %q", left)
	}
}

// runs runs the program in a separate folder.
func runs(t *testing.T, lockbench string, words ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), lockbench, words...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// secureNATS puts TLS with client certificates, and a token, in front of a server.
func secureNATS(t *testing.T, lockbench, more string) {
	const token = "s3cr3t-t0ken"
	certs := redistest.NewCerts(t, time.Now().Add(time.Hour))
	addr, dir := freeAddress(t), t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: %q\njetstream { store_dir: %q, max_file: 64MB, max_mem: 16MB }\nauthorization { token: %q }\ntls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n",
		addr, dir, token, certs.Server.Cert, certs.Server.Key, certs.CA)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(exec.CommandContext(t.Context(), more, "serve", "nats", "-c", file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(context.Background()); err != nil {
			t.Error(err)
		}
	})
	flags := []string{"natss://" + addr, "--tls-ca", certs.CA, "--tls-name", redistest.CertName}
	known := append(slices.Clone(flags), "--tls-cert", certs.Client.Cert, "--tls-key", certs.Client.Key)
	t.Setenv("LOCKBENCH_NATS_PASSWORD", token)
	sitetest.Accepted(t, lockbench, known...)
	sitetest.Refused(t, lockbench, flags, "--tls-cert")
	sitetest.Refused(t, lockbench, []string{"nats://" + addr}, "natss://")
	for _, words := range [][]string{{"run", "steady", "--locks", "no-lock,nats-kv,nats-kv/expiry=key", "--episodes", "1", "--out", filepath.Join(dir, "out")}, {"run", "steady", "--locks", "no-lock,nats-kv", "--episodes", "1", "--fault", "bandwidth: clients -> master, for: 1s, rate: 2kB/s"}} {
		if out, err := runs(t, lockbench, slices.Concat(words, []string{"--servers"}, known)...); err != nil {
			t.Errorf("%q: %v\n%s", words, err, out)
		}
	}
	sitetest.Absent(t, filepath.Join(dir, "out"), token)
	t.Setenv("LOCKBENCH_NATS_PASSWORD", "wrong")
	sitetest.Refused(t, lockbench, known, "it refuses the login: Authorization Violation")
}
