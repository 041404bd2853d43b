//go:build linux

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"

	"lockbench/internal/trial/trialtest"
	"lockbench/internal/world/external/sitetest"
	"lockbench/locks"
	"lockbench/service"
	"lockbench/service/postgres"
	"lockbench/service/redis/redistest"
	"lockbench/service/zookeeper"
)

// foreignServices are those of somebody else's on which scenarios are run, and the locks of
// lockbench in each. What is not for every day takes half a minute.
var foreignServices = []struct {
	service  service.Service
	topology locks.Topology
	scheme   string
	daily    bool
	runs     [][2]string // scenario and locks
	apart    func(t *testing.T, site *sitetest.Site)
}{
	{zookeeper.Service{}, locks.Single, "zookeeper://", true, [][2]string{{"kill-holder", "no-lock,zk-recipe"}}, zookeeperApart},
	{postgres.Service{}, locks.Single, "postgres://", true, [][2]string{
		{"kill-holder", "no-lock,pg-row"}, {"leader-kill", "no-lock,pg-row"}, {"steady", "no-lock,pg-row,pg-advisory,pg-advisory-xact"},
	}, postgresApart},
	{zookeeper.Service{}, zookeeper.Quorum, "zookeeper://", false, [][2]string{
		{"leader-kill", "no-lock,zk-recipe"}, {"failover", "no-lock,zk-recipe"}, {"steady", "no-lock,zk-recipe"}, {"handoff", "no-lock,zk-lock"},
	}, nil},
}

// On servers of other services, broken by hooks, locks do what they do on lockbench's own.
func TestServicesOfSomebodyElse(t *testing.T) {
	for _, on := range foreignServices {
		t.Run(on.service.Name()+"/"+string(on.topology), func(t *testing.T) {
			if !on.daily && os.Getenv("LOCKBENCH_LONG") == "" {
				t.Skip("it takes minutes: LOCKBENCH_LONG=1")
			}
			site := sitetest.New(t, on.service, on.topology, "")
			for i, run := range on.runs {
				t.Run(run[0], func(t *testing.T) {
					if i > 0 && os.Getenv("LOCKBENCH_LONG") == "" {
						t.Skip("it takes half a minute: LOCKBENCH_LONG=1")
					}
					site.Run(t, trialtest.Program(t), run[0], on.scheme+site.Hosts(), "--locks", run[1])
				})
			}
			if on.apart != nil {
				on.apart(t, site)
			}
		})
	}
}

// refused wants doctor to refuse servers, for reasons.
func refused(t *testing.T, servers string, want ...string) {
	t.Helper()
	refusedWith(t, "", servers, want...)
}

func refusedWith(t *testing.T, env, servers string, want ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), "doctor", "--servers", servers)
	cmd.Env = append(os.Environ(), env)
	said, _ := cmd.CombinedOutput()
	for _, text := range append(want, "nothing was changed there") {
		if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(string(said), text) {
			t.Errorf("doctor ends with %d, want 3 and %q:\n%s", code, text, said)
		}
	}
}

// A user who has to give a password is let in by the relay alone, and what is not the run's is left
// alone.
func postgresApart(t *testing.T, site *sitetest.Site) {
	const secret = "s3cr3t-of-the-base"
	conn, err := pgx.Connect(t.Context(), "postgres://postgres@"+site.Hosts()+"/postgres?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	do := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := conn.Exec(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	var tables int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'lock%'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("locks have left %d tables (%v), want none", tables, err)
	}
	var hba string
	if err := conn.QueryRow(t.Context(), "SHOW hba_file").Scan(&hba); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(hba, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	old, err := os.ReadFile(hba)
	if err == nil {
		_, err = file.WriteString("host all app all scram-sha-256\n" + string(old))
	}
	if err != nil {
		t.Fatal(err)
	}
	do("CREATE USER app PASSWORD '"+secret+"'", "CREATE DATABASE shop", "SELECT pg_reload_conf()")
	await(t, func() error { // a server reads its files anew when it gets to it
		c, err := pgx.Connect(t.Context(), "postgres://app@"+site.Hosts()+"/postgres?sslmode=disable")
		if err != nil {
			return nil
		}
		defer c.Close(t.Context())
		return errors.New("app is let in without a password")
	})
	url := "postgres://app@" + site.Hosts() + "/shop"
	env := "LOCKBENCH_POSTGRES_PASSWORD="
	t.Setenv("PGPASSWORD", secret) // which is nobody's here
	refusedWith(t, env+"wrong", url, "it refuses the login", "password authentication failed", "LOCKBENCH_POSTGRES_PASSWORD")
	refusedWith(t, env+secret, url, `GRANT CREATE ON DATABASE "shop" TO "app"`)
	do("GRANT CREATE ON DATABASE shop TO app")
	refusedWith(t, env+secret, "postgres://app@"+site.Hosts()+"/nowhere", `database "nowhere" does not exist`)
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), "run", "steady", "--servers", url, "--locks", "no-lock,pg-row", "--episodes", "1", "--seed", "42", "--out", out)
	cmd.Env = append(os.Environ(), env+secret)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v, want exit code 0:\n%s", err, said)
	}
	tellNobody(t, out, secret)
	secured := securePostgres(t, hba, do)
	await(t, func() error {
		cmd := exec.CommandContext(t.Context(), trialtest.Program(t), append([]string{"doctor", "--servers", strings.Replace(url, "://", "+tls://", 1)}, secured...)...)
		cmd.Env = append(os.Environ(), env+secret)
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("by TLS: %w, want exit code 0:\n%s", err, said)
		}
		return nil
	})
	refusedWith(t, env+secret, strings.Replace(url, "://", "+tls://", 1), "--tls-name")
	do(`CREATE SCHEMA "lockbench:7:"`)
	refused(t, "postgres://"+site.Hosts(), `"lockbench:7:"`, "DROP SCHEMA")
	url = "postgres://" + site.Hosts()
	if n, err := site.Foreign(t, url, "lockbench:8:").Clear(t.Context()); n != 0 || err != nil {
		t.Errorf("of another run %d schemas were removed (%v)", n, err)
	}
	if n, err := site.Foreign(t, url, "lockbench:7:").Clear(t.Context()); n != 1 || err != nil {
		t.Errorf("%d schemas were removed (%v), want 1", n, err)
	}
}

func await(t *testing.T, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := service.Poll(ctx, try); err != nil {
		t.Fatal(err)
	}
}

// securePostgres gives a server a certificate, beside a file of its own, and returns the flags for
// that.
func securePostgres(t *testing.T, beside string, do func(...string)) []string {
	certs := redistest.NewCerts(t, time.Now().Add(time.Hour))
	dir := filepath.Dir(beside) // of the server's user, who is not ours
	owner, err := os.Stat(beside)
	if err != nil {
		t.Fatal(err)
	}
	of := owner.Sys().(*syscall.Stat_t)
	for path, as := range map[string]string{certs.Server.Cert: "ssl_cert_file", certs.Server.Key: "ssl_key_file"} {
		text, err := os.ReadFile(path)
		own := filepath.Join(dir, as)
		if err == nil {
			err = os.WriteFile(own, text, 0o600)
		}
		if err == nil {
			err = os.Chown(own, int(of.Uid), int(of.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
		do("ALTER SYSTEM SET " + as + " = '" + own + "'")
	}
	do("ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
	return []string{"--tls-ca", certs.CA, "--tls-name", redistest.CertName}
}

// Nodes of somebody else's are told from those of a run, and left alone, wherever they are.
func zookeeperApart(t *testing.T, site *sitetest.Site) {
	c, _, err := zk.Connect([]string{site.Hosts()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, path := range []string{"/apps", "/apps/of-lockbench:7:a", "/apps/of-lockbench:7:a/child", "/apps/lockbench"} {
		if _, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(path, err)
		}
	}
	url := "zookeeper://" + site.Hosts()
	refused(t, url, `"/apps/of-lockbench:7:a"`, "zkCli.sh")
	if n, err := site.Foreign(t, url, "lockbench:8:").Clear(t.Context()); n != 0 || err != nil {
		t.Errorf("of another run %d nodes were removed (%v)", n, err)
	}
	if n, err := site.Foreign(t, url, "lockbench:7:").Clear(t.Context()); n != 2 || err != nil {
		t.Errorf("%d nodes were removed (%v), want 2", n, err)
	}
	if kids, _, err := c.Children("/apps"); err != nil || !slices.Equal(kids, []string{"lockbench"}) {
		t.Errorf("of the owner's nodes there are %q (%v)", kids, err)
	}
}
