//go:build linux

package guests

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/service/postgres"
	"lockbench/internal/world"
	"lockbench/internal/world/local"
	"lockbench/locks"
)

// pages show settings: all blocks of code in one of the languages.
var pages = []string{"../docs/choose-a-lock.md", "../docs/libraries/*.md"}

// languages are the languages of the settings, with the test of one.
var languages = map[string]func(t *testing.T, text string){
	"conf":   redisServerTakes,
	"go":     goCompiles,
	"java":   javaCompiles,
	"js":     nodeRuns,
	"python": pythonRuns,
	"sql":    fenceLosesNoUpdate,
}

// Each block of settings of the pages works with the libraries and servers of this machine, and stands on one page.
func TestSettings(t *testing.T) {
	shown, pageOf := map[string]bool{}, map[string]string{}
	for _, pattern := range pages {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: found %q, %v", pattern, files, err)
		}
		for _, file := range files {
			page, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			blocks := regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
			if len(blocks) == 0 {
				t.Errorf("%s shows no settings", file)
			}
			for _, block := range blocks {
				language, text := block[1], block[2]
				if other := pageOf[text]; other != "" {
					t.Errorf("%s and %s show the same settings:\n%s", other, file, text)
				}
				shown[language], pageOf[text] = true, file
				t.Run(strings.TrimSuffix(filepath.Base(file), ".md")+"/"+language, func(t *testing.T) {
					if languages[language] == nil {
						t.Fatalf("no test runs the language %s of %s", language, file)
					}
					languages[language](t, text)
				})
			}
		}
	}
	if len(shown) != len(languages) {
		t.Errorf("the pages show %v, and there are tests for %d languages", shown, len(languages))
	}
}

// succeeds runs a command and fails with its output.
func succeeds(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v:\n%s", program, err, out)
	}
}

// written writes a file into a new folder and returns the folder.
func written(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// javaCompiles compiles a class with the libraries of the guest that has its packages.
func javaCompiles(t *testing.T, text string) {
	guest := "java/spring"
	for name, pkg := range map[string]string{"java/redisson-4.7.0": "org.redisson", "java/curator": "org.apache.curator"} {
		if strings.Contains(text, "import "+pkg+".") {
			guest = name
		}
	}
	need(t, guest)
	needs.OrSkip(t, "guests", needs.Programs("javac"))
	succeeds(t, written(t, "Settings.java", text), "javac", "-cp", mustAbs(t, built)+"/"+guest+"/lib/*", "Settings.java")
}

// nodeRuns runs a module. It calls redlock by the name of the package, of which the guests have two versions.
func nodeRuns(t *testing.T, text string) {
	need(t, "node/npm")
	dir := written(t, "settings.mjs", strings.ReplaceAll(text, `from "redlock"`, `from "redlock-5"`))
	if err := os.Symlink(filepath.Join(mustAbs(t, built), "node/npm/node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	succeeds(t, dir, "node", "settings.mjs")
}

func pythonRuns(t *testing.T, text string) {
	need(t, "python/pypi")
	succeeds(t, written(t, "settings.py", text), filepath.Join(mustAbs(t, built), "python/pypi/venv/bin/python"), "settings.py")
}

// goCompiles builds a file in the module that has its libraries.
func goCompiles(t *testing.T, text string) {
	module := "../more"
	if strings.Contains(text, "k8s.io/") {
		module = "../more/kubelease"
	}
	succeeds(t, module, "go", "vet", filepath.Join(written(t, "settings.go", text), "settings.go"))
}

// redisServerTakes starts a server with the settings and asks it for each.
func redisServerTakes(t *testing.T, text string) {
	needServer(t)
	dir := written(t, "redis.conf", text+"port 0\nunixsocket redis.sock\n")
	cmd := exec.CommandContext(t.Context(), "redis-server", "redis.conf")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines, said := bufio.NewScanner(out), ""
	for lines.Scan() && !strings.Contains(strings.ToLower(lines.Text()), "ready to accept connections") {
		said += lines.Text() + "\n"
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: filepath.Join(dir, "redis.sock")})
	defer client.Close()
	for setting := range strings.Lines(text) {
		name, want, _ := strings.Cut(strings.TrimSpace(setting), " ")
		if got, err := client.ConfigGet(t.Context(), name).Result(); err != nil || got[name] != want {
			t.Errorf("%s is %q, want %q, %v:\n%s", name, got[name], want, err, said)
		}
	}
}

// fenceLosesNoUpdate runs the statements of two holders in every order. Each holder claims the row, reads the balance, and
// writes the next one. If the balance is not the number of writes that updated the row, an update was lost.
func fenceLosesNoUpdate(t *testing.T, text string) {
	fence := strings.Split(text, ";\n")
	if len(fence) != 4 {
		t.Fatalf("want three statements:\n%s", text)
	}
	claim, read, write := fence[0], fence[1], fence[2]
	// The page says the same of a token without an order, and that the claim is necessary.
	random := strings.Replace(claim, " AND token < :token", "", 1)
	unclaimed := strings.Replace(strings.Replace(write, " AND token = :token", " AND token <= :token", 1), "SET", "SET token = :token,", 1)

	w := local.New(local.Options{Services: []*service.Service{postgres.Service}})
	needs.OrSkip(t, postgres.Name, w.Ready(t.Context()))
	form, _ := service.Find(postgres.Service, locks.Single)
	err := w.Run(t.Context(), world.Spec{Service: postgres.Service, Topology: form, Clients: 1}, func(ctx context.Context, c world.Cluster) error {
		conn, err := connect(ctx, c)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		for _, test := range []struct {
			name       string
			statements []string
			loses      bool
		}{
			{"the fence", []string{claim, read, write}, false},
			{"random tokens", []string{random, read, write}, false},
			{"without the claim", []string{"UPDATE account SET balance = balance WHERE id = :id", read, unclaimed}, true},
		} {
			lost := 0
			for _, order := range orders(3, 3) {
				wrote, balance, err := interleave(ctx, conn, test.statements, order)
				if err != nil {
					return err
				}
				if wrote == 0 {
					t.Errorf("%s: in the order %v no holder writes", test.name, order)
				}
				if wrote != balance {
					lost++
				}
			}
			if (lost > 0) != test.loses {
				t.Errorf("%s: an update is lost in %d orders:\n%s", test.name, lost, strings.Join(test.statements, ";\n"))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// connected is a client that does nothing but to have a connection.
type connected struct{ locks.Locker }

func (connected) Close() error { return nil }

// connect opens a connection to the server of a cluster.
func connect(ctx context.Context, c world.Cluster) (*pgx.Conn, error) {
	var store locks.Store
	if _, err := c.Open(ctx, world.ClientSpec{Seed: 1, Opener: func(_ context.Context, client locks.Client) (locks.Locker, error) {
		store = client.Store
		return connected{}, nil
	}}); err != nil {
		return nil, err
	}
	cfg, err := pgx.ParseConfig("postgres://" + store.Nodes()[0].Addr + "/?sslmode=disable")
	if err != nil {
		return nil, err
	}
	cfg.User, cfg.Database = store.Params[postgres.User], store.Params[postgres.Database]
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return store.Dial(ctx, network, addr)
	}
	return pgx.ConnectConfig(ctx, cfg)
}

// orders returns every order of a steps of holder 0 and b steps of holder 1.
func orders(a, b int) (all [][]int) {
	if a+b == 0 {
		return [][]int{nil}
	}
	for holder, left := range []int{a, b} {
		if left == 0 {
			continue
		}
		rest := orders(a-1+holder, b-holder)
		for _, o := range rest {
			all = append(all, append([]int{holder}, o...))
		}
	}
	return all
}

// interleave executes the three statements of two holders, whose tokens are 1 and 2, in an order. A holder stops when a
// statement updates no row. It returns how many writes updated the row, and the balance at the end.
func interleave(ctx context.Context, conn *pgx.Conn, statements []string, order []int) (wrote, balance int, err error) {
	_, err = conn.Exec(ctx, `DROP TABLE IF EXISTS account; CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, token bigint NOT NULL);
		INSERT INTO account VALUES (7, 0, 0)`)
	step, read := [2]int{}, [2]int{}
	for _, holder := range order {
		if err != nil || step[holder] == len(statements) {
			continue
		}
		statement := strings.NewReplacer(":token", strconv.Itoa(holder+1), ":id", "7", ":balance", strconv.Itoa(read[holder]+1)).Replace(statements[step[holder]])
		step[holder]++
		if step[holder] == 2 {
			err = conn.QueryRow(ctx, statement).Scan(&read[holder])
			continue
		}
		updated, e := conn.Exec(ctx, statement)
		switch {
		case e != nil || updated.RowsAffected() == 0:
			step[holder], err = len(statements), e
		case step[holder] == 3:
			wrote++
		}
	}
	if err == nil {
		err = conn.QueryRow(ctx, "SELECT balance FROM account").Scan(&balance)
	}
	return wrote, balance, err
}
