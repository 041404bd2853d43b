//go:build linux

package external

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// read makes a world of what a person gives.
func read(t *testing.T, g Given, environment map[string]string) *World {
	t.Helper()
	o, err := g.Read([]*service.Service{redis.Service}, func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	return New(o)
}

// refused wants a world that is not ready, for a reason, and servers that are as they were.
func refused(t *testing.T, w *World, site *redistest.Site, keys string, want ...string) {
	t.Helper()
	err := w.Ready(t.Context())
	for _, text := range append(want, "nothing was changed there") {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("not ready because %v; want it to say %q", err, text)
		}
	}
	if got, err := site.Ask(t.Context(), "redis-1", "DBSIZE"); got != keys {
		t.Errorf("the server has %s keys (%v), want %s", got, err, keys)
	}
}

func TestWrongPasswordIsRefused(t *testing.T) {
	site := redistest.NewSite(t, locks.Single, "right", nil)
	for name, want := range map[string]string{"wrong": "WRONGPASS", "": "NOAUTH"} {
		w := read(t, Given{Servers: []string{site.URL()}}, map[string]string{"LOCKBENCH_REDIS_PASSWORD": name})
		refused(t, w, site, ":0", "it refuses the login", want, "LOCKBENCH_REDIS_PASSWORD")
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("right\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := read(t, Given{Servers: []string{site.URL()}}, map[string]string{"LOCKBENCH_REDIS_PASSWORD_FILE": file})
	if err := w.Ready(t.Context()); err != nil {
		t.Errorf("the right password, from a file: %v", err)
	}
}

// TestMaskHasAllSecrets masks the passwords of variables and files, and the private key.
func TestMaskHasAllSecrets(t *testing.T) {
	certs := redistest.NewCerts(t, time.Now().Add(time.Hour))
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("of-the-sentinels\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := read(t, Given{Servers: []string{"rediss+sentinel://a/mymaster"}, CA: certs.CA, Cert: certs.Client.Cert, Key: certs.Client.Key}, map[string]string{
		"LOCKBENCH_REDIS_USER": "public", "LOCKBENCH_REDIS_PASSWORD": "of-the-data", "LOCKBENCH_SENTINEL_PASSWORD_FILE": file,
	})
	key, err := os.ReadFile(certs.Client.Key)
	if err != nil {
		t.Fatal(err)
	}
	got := w.Mask().Text("public of-the-data of-the-sentinels\n" + string(key))
	want := regexp.MustCompile(`(?m)^[A-Za-z0-9+/=]{4,}$`).ReplaceAllString("public *** ***\n"+string(key), "***")
	if got != want || !strings.Contains(want, "PRIVATE KEY-----\n***\n") {
		t.Errorf("the texts are masked as\n%s, want\n%s", got, want)
	}
	cert, err := os.ReadFile(certs.Client.Cert)
	if err != nil || w.Mask().Text(string(cert)) != string(cert) {
		t.Errorf("the certificate is masked (%v)", err)
	}
}

func TestCertificatesThatWillNotDoAreRefused(t *testing.T) {
	expired := redistest.NewCerts(t, time.Now().Add(-time.Hour))
	site := redistest.NewSite(t, locks.Single, "", expired)
	given := Given{
		Servers: []string{site.URL()}, TLSName: redistest.CertName,
		CA: expired.CA, Cert: expired.Client.Cert, Key: expired.Client.Key,
	}
	refused(t, read(t, given, nil), site, ":0", "its certificate is not valid now, but from ")
	valid := redistest.NewCerts(t, time.Now().Add(time.Hour))
	site = redistest.NewSite(t, locks.Single, "", valid)
	given.Servers = []string{site.URL()}
	refused(t, read(t, given, nil), site, ":0", "--tls-ca") // it is another authority's
	given.CA, given.TLSName = valid.CA, "other.test"
	refused(t, read(t, given, nil), site, ":0", "--tls-name")
	given.TLSName, given.Cert, given.Key = redistest.CertName, "", ""
	refused(t, read(t, given, nil), site, ":0", "--tls-cert")
	given.Servers = []string{strings.Replace(site.URL(), "rediss", "redis", 1)}
	refused(t, read(t, Given{Servers: given.Servers}, nil), site, ":0", "if it wants TLS")
}

// A port without TLS does not answer a handshake.
func TestTLSOnAPlainPort(t *testing.T) {
	site := redistest.NewSite(t, locks.Single, "", nil)
	url := strings.Replace(site.URL(), "redis:", "rediss:", 1)
	w := read(t, Given{Servers: []string{url}}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := w.options.dial(ctx, service.Data, w.options.Location.Addrs[0])
	if err == nil || !strings.Contains(err.Error(), "if the port speaks no TLS, use redis://") {
		t.Errorf("got %v", err)
	}
}

// A certificate with only a CN has no name that --tls-name could give.
func TestCertificateWithoutNames(t *testing.T) {
	host := x509.HostnameError{Certificate: &x509.Certificate{Subject: pkix.Name{CommonName: "redis.test"}}, Host: "redis.test"}
	err := Options{}.explain(service.Data, host)
	if !strings.Contains(err.Error(), "has no subject alternative name") || strings.Contains(err.Error(), "--tls-name") {
		t.Errorf("got %v", err)
	}
}

func TestServersWithForeignKeysAreRefused(t *testing.T) {
	site := redistest.NewSite(t, locks.Single, "", nil)
	if said, err := site.Ask(t.Context(), "redis-1", "SET", "lockbench:7:a", "theirs"); said != "+OK" {
		t.Fatal(said, err)
	}
	w := read(t, Given{Servers: []string{site.URL()}}, nil)
	refused(t, w, site, ":1", `"lockbench:7:a"`, "redis-cli")
	err := w.Run(t.Context(), spec(7), func(context.Context, world.Cluster) error { return errors.New("it was let in") })
	if err == nil || !strings.Contains(err.Error(), `"lockbench:7:a"`) {
		t.Errorf("a run says %v", err)
	}
	if said, err := site.Ask(t.Context(), "redis-1", "GET", "lockbench:7:a"); said != "$6" {
		t.Errorf("their key is %s (%v)", said, err)
	}
}

// TestRemoveByHand: the command of the error removes the keys of the other run, whatever the library puts before and behind the
// name of a lock, and no key of another program.
func TestRemoveByHand(t *testing.T) {
	needs.OrSkip(t, "local", needs.Programs("redis-cli", "sh", "xargs"))
	site := redistest.NewSite(t, locks.Single, "", nil)
	set := func(keys ...string) {
		for _, key := range keys {
			if said, err := site.Ask(t.Context(), "redis-1", "SET", strconv.Quote(key), "x"); said != "+OK" {
				t.Fatal(said, err)
			}
		}
	}
	set("app:lockbench:stats", "lockbench:config", "lockbench:77x:a", "b", "theirs")
	w := read(t, Given{Servers: []string{site.URL()}}, nil)
	if err := w.Ready(t.Context()); err != nil {
		t.Errorf("keys of other programs are refused: %v", err)
	}
	set("lockbench:77:a", "lockbench:77:a b", `lockbench:77:it's "c"`, "{lockbench:77:a}:queue", "lock:lockbench:77:a", "lockbench:7:a", "lockbench:177:a")
	err := w.Ready(t.Context())
	if err == nil {
		t.Fatal("keys of another run are not refused")
	}
	seed := regexp.MustCompile(`"lockbench:(\d+):"`).FindStringSubmatch(err.Error())
	_, command, found := strings.Cut(err.Error(), "remove them: ")
	if !found || seed == nil {
		t.Fatal(err)
	}
	command, _, _ = strings.Cut(command, ", on each master")
	host, port, err := net.SplitHostPort(strings.TrimPrefix(site.URL(), "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	command = strings.ReplaceAll(command, "lockbench:"+seed[1]+":", "lockbench:77:") // whichever was found first
	command = strings.NewReplacer("HOST", host, "PORT", port).Replace(command)
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	if got, err := site.Ask(t.Context(), "redis-1", "DBSIZE"); got != ":7" {
		t.Errorf("%s left %s keys (%v), want the five of other programs and those of the runs 7 and 177", command, got, err)
	}
}

func spec(seed uint64) world.Spec {
	one, _ := service.Find(redis.Service, locks.Single)
	return world.Spec{Service: redis.Service, Topology: one, Clients: 1, Seed: seed}
}

// A hook that hangs is ended at its limit and reported. At the end it is undone, like all other hooks.
func TestHookThatHangs(t *testing.T) {
	site := redistest.NewSite(t, locks.Single, "", nil)
	hooks := site.Hooks("kill: {run: 'echo began; sleep 60', limit: 300ms}", "start: touch "+filepath.Join(site.Dir, "started")+"-{node}")
	w := read(t, Given{Servers: []string{site.URL()}, Hooks: hooks}, nil)
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	s := spec(1)
	s.LogDir = logs
	err := w.Run(t.Context(), s, func(ctx context.Context, c world.Cluster) error {
		killer := c
		err := killer.Kill(ctx, "redis-1")
		if err == nil || !strings.Contains(err.Error(), "did not end within 300ms") || !strings.Contains(err.Error(), `"began"`) {
			t.Errorf("the hook that hangs: %v", err)
		}
		// As the user does after lockbench was killed.
		if out, err := exec.Command("sh", filepath.Join(logs, "owed.sh")).CombinedOutput(); err != nil {
			t.Errorf("the pending undos: %v\n%s", err, out)
		}
		if err := os.Remove(filepath.Join(site.Dir, "started-my-redis-1")); err != nil {
			t.Errorf("the file of pending undos did not undo it: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(site.Dir, "started-my-redis-1")); err != nil {
		t.Errorf("the hook was not undone: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(logs, "owed*")); len(left) > 0 {
		t.Errorf("no undo is pending, and there is %v", left)
	}
	text, err := os.ReadFile(filepath.Join(logs, "hooks.log"))
	if err != nil || !strings.Contains(string(text), "began") {
		t.Errorf("the log of hooks: %v\n%s", err, text)
	}
}

// A failed undo is reported with the command to run by hand. Secrets are removed from output.
func TestUndoThatFails(t *testing.T) {
	const secret = "s3cr3t"
	site := redistest.NewSite(t, locks.Single, secret, nil)
	hooks := site.Hooks("pause: echo "+secret+"; true redis-cli -a hunter2", "resume: echo no {node}; true redis-cli -a hunter2; exit 7")
	w := read(t, Given{Servers: []string{site.URL()}, Hooks: hooks}, map[string]string{"LOCKBENCH_REDIS_PASSWORD": secret})
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := spec(1)
	s.LogDir = t.TempDir()
	err := w.Run(ctx, s, func(ctx context.Context, c world.Cluster) error {
		pauser := c
		if err := pauser.PauseNode(ctx, "redis-1"); err != nil {
			t.Error(err)
		}
		stop() // as Ctrl-C does
		return nil
	})
	for _, want := range []string{"exit status 7", "run by hand: echo no my-redis-1; true redis-cli -a ***; exit 7"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the end says %v, want %q in it", err, want)
		}
	}
	log, readErr := os.ReadFile(filepath.Join(s.LogDir, "hooks.log"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	if !strings.Contains(string(log), "hook pause: echo ***; true redis-cli -a ***\n***\n") {
		t.Errorf("the log of hooks is:\n%s", log)
	}
	for _, secret := range []string{secret, "hunter2"} {
		if told := fmt.Sprint(err, string(log)); strings.Contains(told, secret) {
			t.Errorf("the secret %s is printed: %s", secret, told)
		}
	}
	owed, statErr := os.Stat(filepath.Join(s.LogDir, "owed.sh"))
	if statErr != nil || owed.Mode().Perm() != 0o600 {
		t.Errorf("the file with whole commands: %v, %v; want it for its owner alone", owed, statErr)
	}
}

// A node that hooks have cut off from all others is joined by its opposite, once; a link alone
// cannot be cut so. A hook promotes, and the servers themselves say who leads.
func TestHooksOfLinksAndOfPromotion(t *testing.T) {
	site := redistest.NewSite(t, locks.Sentinel, "", nil)
	said := filepath.Join(site.Dir, "said")
	path := filepath.Join(t.TempDir(), "hooks.yaml")
	text := "hooks:\n  isolate: echo off {host} >> " + said + "\n  heal: echo on {host} >> " + said + "\n"
	for line := range strings.Lines(readFile(t, site.Hooks())) {
		if strings.HasPrefix(line, "  promote:") {
			text += strings.Replace(line, "{node}", "my-{node}", 1)
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w := read(t, Given{Servers: []string{site.URL()}, Hooks: path}, nil)
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := w.Run(t.Context(), spec(1), func(ctx context.Context, c world.Cluster) error {
		var all []world.Link
		for _, n := range c.Nodes()[1:] {
			all = append(all, world.Link{From: "redis-1", To: n.Name}, world.Link{From: n.Name, To: "redis-1"})
		}
		cutter := c
		if err := cutter.SetLinks(ctx, all[:1], world.LinkState{Cut: true}); err == nil {
			t.Error("one link alone was cut by hooks that cut off a node")
		}
		host := site.Addr("redis-1").Addr().String()
		if err := cutter.SetLinks(ctx, all, world.LinkState{Cut: true}); err != nil {
			t.Error(err)
		}
		if err := cutter.SetLinks(ctx, all[:1], world.LinkState{}); err != nil {
			t.Error(err)
		}
		if err := cutter.SetLinks(ctx, all[1:], world.LinkState{}); err != nil {
			t.Error(err)
		}
		if got := readFile(t, said); got != "off "+host+"\non "+host+"\n" {
			t.Errorf("the hooks were told %q", got)
		}
		promote := c.Abilities().Promote
		if promote == nil {
			t.Fatal("there is a hook that promotes, and no ability to")
		}
		node, err := promote(ctx, "redis-2")
		if leads, _ := c.Leader(ctx); err != nil || node != "redis-2" || leads != node {
			t.Errorf("%s was promoted (%v), and %s leads", node, err, leads)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Keys are only in the database that the URL names. Servers are reached at the addresses of the hooks
// file.
func TestDatabaseAndAddresses(t *testing.T) {
	site := redistest.NewSite(t, locks.Single, "secret", nil)
	hooks := filepath.Join(t.TempDir(), "hooks.yaml")
	text := "addresses: {'nat.test:1': '" + site.Addr("redis-1").String() + "'}\n"
	if err := os.WriteFile(hooks, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w := read(t, Given{Servers: []string{"redis://nat.test:1/3"}, Hooks: hooks}, map[string]string{"LOCKBENCH_REDIS_PASSWORD": "secret"})
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := w.with(t.Context(), spec(9), func(ctx context.Context, b *backend) error {
		conn, err := b.reach.Dial(ctx, "redis-1")
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("SET lockbench:9:a ours\r\nCLIENT LIST\r\n")); err != nil {
			return err
		}
		said := make([]byte, 1000)
		for n := 0; !strings.Contains(string(said), "db=3"); {
			more, err := conn.Read(said[n:])
			if n += more; err != nil || n == len(said) {
				t.Fatalf("no client is in database 3 (%v): %s", err, said)
			}
		}
		if size, err := site.Ask(ctx, "redis-1", "DBSIZE"); size != ":0" {
			t.Errorf("database 0 has %s keys (%v)", size, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if said, err := site.Ask(t.Context(), "redis-1", "INFO", "keyspace"); said != "$12" { // and nothing but the heading
		t.Errorf("there is left %s (%v)", said, err)
	}
	if _, err := parseHooks([]byte("addresses: {a: b}")); err == nil || !strings.Contains(err.Error(), "not a HOST:PORT") {
		t.Errorf("addresses without ports: %v", err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Where locks ask for other servers than there are, they are told so.
func TestPlace(t *testing.T) {
	five, _ := service.Find(redis.Service, locks.Independent)
	for _, c := range []struct {
		url  string
		asks service.Topology
		want string
	}{
		{"redis://a", five, "needs independent masters"},
		{"redis://a,redis://b", spec(1).Topology, "is for one master"},
		{"redis+cluster://a", spec(1).Topology, ""},
		{"redis://a,redis://b,redis://c", five, ""},
	} {
		w := read(t, Given{Servers: []string{c.url}}, nil)
		s := world.Spec{Service: redis.Service, Topology: c.asks}
		err := w.Place(&s)
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, new(world.Unsupported)) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.url, err, c.want)
		}
		if c.want == "" && s.Topology.Name != w.there().Topology.Name {
			t.Errorf("%s: the lock is put on %s", c.url, s.Topology.Name)
		}
	}
}

// Nothing that servers say of themselves is more than a word to a shell.
func TestFilled(t *testing.T) {
	c := command{Run: "kill {node} at ${x} {host}"}
	if got, err := c.filled(values{"node": "a", "host": "b.c"}); got != "kill a at ${x} b.c" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := c.filled(values{"node": "a", "host": "b; rm"}); err == nil {
		t.Errorf("%q is taken", got)
	}
}
