//go:build linux

package run

import (
	"context"
	"database/sql"
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

	_ "github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"

	"lockbench/internal/service"
	"lockbench/internal/service/mariadb"
	"lockbench/internal/service/postgres"
	"lockbench/internal/service/zookeeper"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/testing/sitetest"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks"
)

// externalServices are the external services on which scenarios run, and the locks for each. The slow ones run only with
// LOCKBENCH_LONG=1.
var externalServices = []struct {
	service  *service.Service
	topology locks.Topology
	scheme   string
	daily    bool
	runs     [][2]string // scenario and locks
	apart    func(t *testing.T, site *sitetest.Site)
}{
	{zookeeper.Service, locks.Single, "zookeeper://", true, [][2]string{{"kill-holder", "no-lock,zk-recipe"}}, zookeeperApart},
	{postgres.Service, locks.Single, "postgres://", true, [][2]string{
		{"kill-holder", "no-lock,pg-row"}, {"leader-kill", "no-lock,pg-row"}, {"steady", "no-lock,pg-row,pg-advisory,pg-advisory-xact"},
	}, postgresApart},
	{mariadb.Service, locks.Single, "mysql://", true, [][2]string{
		{"kill-holder", "no-lock,mysql-row"}, {"leader-kill", "no-lock,mysql-row"}, {"crash-restart", "no-lock,mysql-row"},
		{"steady", "no-lock,mysql-row,mysql-get-lock,mysql-for-update"},
	}, mariadbApart},
	{zookeeper.Service, zookeeper.Quorum, "zookeeper://", false, [][2]string{
		{"leader-kill", "no-lock,zk-recipe"}, {"failover", "no-lock,zk-recipe"}, {"steady", "no-lock,zk-recipe"}, {"handoff", "no-lock,zk-lock"},
	}, nil},
}

// Locks behave on external servers that hooks break as they do on lockbench's own servers.
func TestExternalServices(t *testing.T) {
	for _, on := range externalServices {
		t.Run(on.service.Name+"/"+string(on.topology), func(t *testing.T) {
			if !on.daily && os.Getenv("LOCKBENCH_LONG") == "" {
				t.Skip("takes minutes; set LOCKBENCH_LONG=1")
			}
			site := sitetest.New(t, on.service, on.topology, "")
			for i, run := range on.runs {
				t.Run(run[0], func(t *testing.T) {
					if i > 0 && os.Getenv("LOCKBENCH_LONG") == "" {
						t.Skip("takes half a minute; set LOCKBENCH_LONG=1")
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

// refused checks that doctor refuses servers and prints the reasons. Login is a variable for the password.
func refused(t *testing.T, login, servers string, want ...string) {
	t.Helper()
	name, value, _ := strings.Cut(login, "=")
	t.Setenv(name, value)
	sitetest.Refused(t, trialtest.Program(t), []string{servers}, want...)
}

// Clients log in with a password over TLS. lockbench removes only what the run created.
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
		t.Errorf("locks left %d tables (%v), want none", tables, err)
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
	await(t, func() error { // a server reloads its files asynchronously
		c, err := pgx.Connect(t.Context(), "postgres://app@"+site.Hosts()+"/postgres?sslmode=disable")
		if err != nil {
			return nil
		}
		defer c.Close(t.Context())
		return errors.New("app is let in without a password")
	})
	url := "postgres://app@" + site.Hosts() + "/shop"
	env := "LOCKBENCH_POSTGRES_PASSWORD="
	t.Setenv("PGPASSWORD", secret) // the server is not on this machine's .pgpass
	refused(t, env+"wrong", url, "it refuses the login", "password authentication failed", "LOCKBENCH_POSTGRES_PASSWORD")
	refused(t, env+secret, url, `GRANT CREATE ON DATABASE "shop" TO "app"`)
	do("GRANT CREATE ON DATABASE shop TO app")
	refused(t, env+secret, "postgres://app@"+site.Hosts()+"/nowhere", `database "nowhere" does not exist`)
	secured := securePostgres(t, hba, do)
	secure := strings.Replace(url, "://", "+tls://", 1)
	lockbench := func(words ...string) error {
		cmd := exec.CommandContext(t.Context(), trialtest.Program(t), slices.Concat(words, []string{"--servers", secure}, secured)...)
		cmd.Env = append(os.Environ(), env+secret)
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s over TLS: %w, want exit code 0:\n%s", words, err, said)
		}
		return nil
	}
	await(t, func() error { return lockbench("doctor") })
	out := t.TempDir()
	if err := lockbench("run", "steady", "--locks", "no-lock,pg-row", "--episodes", "1", "--seed", "42", "--out", out); err != nil {
		t.Error(err)
	}
	sitetest.Absent(t, out, secret)
	refused(t, env+secret, secure, "--tls-name")
	do(`CREATE SCHEMA "lockbench:7:"`)
	refused(t, env, "postgres://"+site.Hosts(), `"lockbench:7:"`, "DROP SCHEMA")
	url = "postgres://" + site.Hosts()
	site.Clears(t, url, 1)
}

func await(t *testing.T, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := service.Poll(ctx, try); err != nil {
		t.Fatal(err)
	}
}

// securePostgres installs a certificate next to a file of the server and returns the flags that use it.
func securePostgres(t *testing.T, next string, do func(...string)) []string {
	certs := redistest.NewCerts(t, time.Now().Add(time.Hour))
	dir := filepath.Dir(next) // owned by the server's user
	owner, err := os.Stat(next)
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

// Clients log in with a password, with and without TLS. lockbench removes only what the run created.
func mariadbApart(t *testing.T, site *sitetest.Site) {
	const secret = "s3cr3t-of-the-base"
	databaseReturns(t, site)
	do := mariadbAsks(t, site)
	do("CREATE USER app IDENTIFIED BY '" + secret + "'")
	url, env := "mysql://app@"+site.Hosts(), "LOCKBENCH_MARIADB_PASSWORD="
	refused(t, env+"wrong", url, "it refuses the login", "Access denied for user 'app'", "LOCKBENCH_MARIADB_PASSWORD")
	refused(t, env+secret, url, "the user app may not create the database of a run: GRANT ALL ON `lockbench:%`.* TO `app`@`%`")
	do("GRANT ALL ON `lockbench:%`.* TO `app`@`%`") // the hint in the error above
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), "run", "steady", "--servers", url, "--locks", "no-lock,mysql-row,mysql-for-update", "--episodes", "1", "--seed", "42", "--out", out)
	cmd.Env = append(os.Environ(), env+secret)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v, want exit code 0:\n%s", err, said)
	}
	sitetest.Absent(t, out, secret)
	do("SET GLOBAL read_only = 1")
	refused(t, env+secret, url, "it is read-only, like a replica: name the primary")
	do("SET GLOBAL read_only = 0", "CREATE DATABASE `lockbench:7:`", "CREATE DATABASE lockbench")
	root := "mysql://" + site.Hosts()
	refused(t, env, root, `"lockbench:7:"`, "DROP DATABASE")
	site.Clears(t, root, 1)
	do("USE lockbench") // the owner's database
	refused(t, env, "mysqls://"+site.Hosts(), "it does not support TLS, which the URL asks for")
	secureMariaDB(t)
}

// databaseReturns checks that a run's database exists again after a server lost its data.
func databaseReturns(t *testing.T, site *sitetest.Site) {
	run, node, killer := site.External(t, "mysql://"+site.Hosts(), "lockbench:9:"), site.Cluster.Nodes()[0].Name, site.Cluster
	err := run.MakeRoom(t.Context())
	if err == nil {
		err = killer.Kill(t.Context(), node)
	}
	if err == nil {
		err = killer.Start(t.Context(), node, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	if left := site.Left(t, "mysql://"+site.Hosts()); len(left) > 0 {
		t.Fatalf("without its data the server has %v", left)
	}
	await(t, func() error { return run.Answers(t.Context(), node) }) // the old connection has ended
	if n, err := run.Clear(t.Context()); n != 1 || err != nil {
		t.Errorf("%d databases were removed (%v), want 1", n, err)
	}
}

// mariadbAsks removes the anonymous users that servers of world local accept. The function that it returns runs statements
// on all servers.
func mariadbAsks(t *testing.T, site *sitetest.Site) func(statements ...string) {
	db, err := sql.Open("mysql", "root@tcp("+site.Hosts()+")/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context()) // opened before the users are removed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	do := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := conn.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	do("FLUSH PRIVILEGES", "CREATE OR REPLACE USER root@'%'", "GRANT ALL ON *.* TO root@'%'")
	return do
}

// secured is a MariaDB with a certificate.
func secured(certs *redistest.Certs) *service.Service {
	s := *mariadb.Service
	s.Program = func(at service.Place) service.Program {
		p := mariadb.Service.Program(at)
		p.Args = append(p.Args, "--ssl-ca="+certs.CA, "--ssl-cert="+certs.Server.Cert, "--ssl-key="+certs.Server.Key)
		return p
	}
	return &s
}

// Clients reach a server over TLS, with a password and, if the server requires it, a client certificate.
func secureMariaDB(t *testing.T) {
	certs := redistest.NewCerts(t, time.Now().Add(time.Hour))
	site := sitetest.New(t, secured(certs), locks.Single, "")
	do := mariadbAsks(t, site)
	const secret = "s3cr3t-over-tls"
	t.Setenv("LOCKBENCH_MARIADB_PASSWORD", secret)
	do("CREATE USER app IDENTIFIED BY '"+secret+"' REQUIRE X509", "GRANT ALL ON `lockbench:%`.* TO app")
	url := "mysqls://app@" + site.Hosts()
	ca, name := []string{"--tls-ca", certs.CA}, []string{"--tls-name", redistest.CertName}
	cert := []string{"--tls-cert", certs.Client.Cert, "--tls-key", certs.Client.Key}
	for _, on := range []struct {
		url   string
		flags []string
		want  string
	}{
		{url, slices.Concat(name, cert), "--tls-ca"},
		{url, slices.Concat(ca, cert, []string{"--tls-name", "elsewhere"}), "--tls-name"},
		{url, slices.Concat(ca, name), "Access denied"}, // without a certificate
		{strings.Replace(url, "mysqls", "mysql", 1), nil, "Access denied"},
	} {
		sitetest.Refused(t, trialtest.Program(t), append([]string{on.url}, on.flags...), on.want)
	}
	out := t.TempDir()
	args := slices.Concat([]string{"run", "steady", "--servers", url, "--locks", "no-lock,mysql-row", "--episodes", "1", "--seed", "42", "--out", out}, ca, name, cert)
	if said, err := exec.CommandContext(t.Context(), trialtest.Program(t), args...).CombinedOutput(); err != nil {
		t.Errorf("over TLS: %v, want exit code 0:\n%s", err, said)
	}
	sitetest.Absent(t, out, secret)
}

// lockbench distinguishes the owner's nodes from those of a run and leaves them alone wherever they are.
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
	sitetest.Refused(t, trialtest.Program(t), []string{url}, `"/apps/of-lockbench:7:a"`, "zkCli.sh")
	site.Clears(t, url, 2)
	if kids, _, err := c.Children("/apps"); err != nil || !slices.Equal(kids, []string{"lockbench"}) {
		t.Errorf("the owner's nodes are %q (%v)", kids, err)
	}
}
