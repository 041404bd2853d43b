//go:build unix

package guests

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks"
)

// These tests make the same calls on Redisson and on its Go port and record the commands that the server receives with
// MONITOR: scripts with their keys and arguments, the commands inside them, and subscriptions. A file of testdata/wire has both
// recordings of one lock and one version as a diff. docs/redisson.md explains each line that only one side has.

var update = flag.Bool("update", false, "rewrite testdata/wire (needs the guests)")

const (
	wireTTL   = 71234 * time.Millisecond // what is left of it is in no other number
	wireDog   = 9 * time.Second
	wireLimit = 2 * time.Minute
)

// call is one request to a guest, as one of two owners.
type call struct {
	what string // "lock", "read", "watched" (no ttl), "read watched", "wait", "read wait", "give up" or "release"
	n    int    // the number of the attempt
	who  string
}

// wireCalls are the calls of each lock. A "wait" begins an acquire that succeeds after the next release, and a "give up"
// waits for a second without success.
var wireCalls = map[string][]call{
	"rlock":    exclusiveCalls,
	"fair":     exclusiveCalls,
	"multi":    {{"lock", 1, "A"}, {"lock", 2, "B"}, {"release", 1, "A"}, {"watched", 3, "A"}, {"release", 3, "A"}},
	"rw-write": exclusiveCalls,
	"rw-read": {
		{"read", 1, "A"}, {"read", 2, "B"}, {"lock", 3, "C"}, {"read", 4, "A"}, {"release", 4, "A"}, {"release", 1, "A"}, {"release", 2, "B"},
		{"lock", 5, "A"}, {"read", 6, "A"}, {"read", 7, "B"}, {"release", 6, "A"}, {"release", 5, "A"},
		{"lock", 8, "A"}, {"read", 9, "A"}, {"release", 8, "A"}, {"release", 9, "A"},
		{"read watched", 10, "A"}, {"release", 10, "A"},
		{"lock", 11, "A"}, {"read wait", 12, "B"}, {"release", 11, "A"}, {"release", 12, "B"},
	},
}

var exclusiveCalls = []call{
	{"lock", 1, "A"}, {"lock", 2, "A"}, {"lock", 3, "B"}, {"release", 2, "A"}, {"release", 1, "A"},
	{"watched", 4, "A"}, {"release", 4, "A"},
	{"lock", 5, "A"}, {"give up", 6, "B"}, {"release", 5, "A"},
	{"lock", 7, "A"}, {"wait", 8, "B"}, {"release", 7, "A"}, {"release", 8, "B"},
}

// wireVersions are the compared versions, with the options that give the port the same behaviour.
var wireVersions = map[string][]string{
	"3.15.6": {"notify=off", "renewal=chained", "latch=off"},
	"4.7.0":  {"notify=off"},
}

// wireless are locks of versions that are not compared, because the library does not lock with the calls of the
// comparison: MultiLock of 3.15.6 asks for a lease of twice the wait, which is 0.
var wireless = []string{"3.15.6/multi"}

// wireLocks are the names of the locks on both sides.
var wireLocks = map[string][2]string{
	"rlock": {"redisson", "redisson-port"}, "fair": {"redisson-fair", "redisson-port-fair"}, "multi": {"redisson-multi", "redisson-port-multi"},
	"rw-write": {"redisson-rw", "redisson-port-rw"}, "rw-read": {"redisson-rw", "redisson-port-rw"},
}

// monitor is a connection on which a server reports the commands that it receives.
type monitor struct {
	asks  net.Conn // for marks
	reads *bufio.Reader

	mu    sync.Mutex
	heard *sync.Cond
	lines []heard
	err   error
}

// heard is one command that the server received.
type heard struct {
	lua  bool
	args []string
}

func newMonitor(t *testing.T, addr string) *monitor {
	t.Helper()
	m := &monitor{}
	m.heard = sync.NewCond(&m.mu)
	dial := func(first string) net.Conn {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := c.Write([]byte(first + "\r\n")); err != nil {
			t.Fatal(err)
		}
		return c
	}
	listens := bufio.NewReader(dial("MONITOR"))
	if line, err := listens.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v", line, err)
	}
	m.asks = dial("PING")
	m.reads = bufio.NewReader(m.asks)
	go m.listen(listens)
	return m
}

var (
	monitored = regexp.MustCompile(`^\+[0-9.]+ \[\d+ ([^\]]+)\] (.*)\r\n$`)
	quoted    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

func (m *monitor) listen(r *bufio.Reader) {
	for {
		line, err := r.ReadString('\n')
		m.mu.Lock()
		if found := monitored.FindStringSubmatch(line); found != nil {
			h := heard{lua: found[1] == "lua"}
			for _, q := range quoted.FindAllString(found[2], -1) {
				arg, err := strconv.Unquote(q)
				if err != nil {
					arg = q
				}
				h.args = append(h.args, arg)
			}
			m.lines = append(m.lines, h)
		}
		m.err = err
		m.heard.Broadcast()
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits until the lines since from fulfil a condition.
func (m *monitor) until(t *testing.T, from int, what string, ok func([]heard) bool) {
	t.Helper()
	late := false
	defer time.AfterFunc(wireLimit, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		late = true
		m.heard.Broadcast()
	}).Stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for !ok(m.lines[from:]) {
		if m.err != nil || late {
			t.Fatalf("the server did not hear %s: %v; it heard %v", what, m.err, m.lines[from:])
		}
		m.heard.Wait()
	}
}

// mark sends the server a word, and returns the number of the line after it.
func (m *monitor) mark(t *testing.T, from int, word string) int {
	t.Helper()
	if _, err := fmt.Fprintf(m.asks, "ECHO %s\r\n", word); err != nil {
		t.Fatal(err)
	}
	next := 0
	m.until(t, from, word, func(lines []heard) bool {
		i := slices.IndexFunc(lines, func(h heard) bool { return h.args[0] == "ECHO" && h.args[1] == word })
		next = from + i + 1
		return i >= 0
	})
	return next
}

func (m *monitor) slice(from, to int) []heard {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lines[from:to])
}

// count counts the commands of a name.
func count(lines []heard, name string) (n int) {
	for _, h := range lines {
		if strings.EqualFold(h.args[0], name) {
			n++
		}
	}
	return n
}

// record makes the calls of a lock with one guest, and returns the commands that the server received.
func record(t *testing.T, lock string, words ...string) []string {
	t.Helper()
	ctx := t.Context()
	addr := redistest.Start(t).Addr
	m := newMonitor(t, addr)
	conn := start(t, words...)
	store := guest.Addresses(redis.Store(locks.Single, locks.Node{Name: "redis-1", Addr: addr}))
	options := map[string]string{"watchdog": wireDog.String()}
	for _, o := range words[2:] {
		name, value, _ := strings.Cut(o, "=")
		options[name] = value
	}
	if err := conn.Open(ctx, guest.Request{Store: &store, Options: options}); err != nil {
		t.Fatal(err)
	}
	ask := func(c call) locks.Request {
		r := locks.Request{Keys: []string{"a"}, Owner: c.who, TTL: wireTTL}
		if lock == "multi" {
			r.Keys = []string{"a", "b"}
		}
		if strings.HasPrefix(c.what, "read") {
			r.Mode = locks.Shared
		}
		switch {
		case strings.HasSuffix(c.what, "watched"):
			r.TTL = 0
		case strings.HasSuffix(c.what, "wait"):
			r.Wait = wireLimit
		case c.what == "give up":
			r.Wait = time.Second
		}
		return r
	}
	var out []string
	n := normal{owners: map[string]string{}}
	from := m.mark(t, 0, "opened")
	waiting := map[int]chan error{}
	for i, c := range wireCalls[lock] {
		var err error
		session := strconv.Itoa(c.n)
		switch {
		case c.what == "release":
			err = conn.Release(ctx, session)
			for n, granted := range waiting { // a release of a lock that another client waits for
				if e := <-granted; e != nil {
					t.Errorf("attempt %d, which waited: %v", n, e)
				}
				delete(waiting, n)
				m.until(t, from, "an UNSUBSCRIBE", func(l []heard) bool { return count(l, "UNSUBSCRIBE") > 0 })
			}
		case strings.HasSuffix(c.what, "wait"):
			granted := make(chan error, 1)
			go func() {
				_, err := conn.Acquire(ctx, session, ask(c))
				granted <- err
			}()
			waiting[c.n] = granted
			m.until(t, from, "an attempt after a SUBSCRIBE", func(l []heard) bool {
				i := slices.IndexFunc(l, func(h heard) bool { return strings.EqualFold(h.args[0], "SUBSCRIBE") })
				return i >= 0 && slices.ContainsFunc(l[i:], isScript)
			})
		default:
			_, err = conn.Acquire(ctx, session, ask(c))
			if strings.HasSuffix(c.what, "watched") && err == nil {
				keys := len(ask(c).Keys)
				m.until(t, from, "a renewal", func(l []heard) bool { return ran(l) > keys && count(l, "pexpire") >= 2*keys })
			}
			if c.what == "give up" && count(m.slice(from, m.mark(t, from, "gave-up")), "SUBSCRIBE") > 0 {
				m.until(t, from, "an UNSUBSCRIBE", func(l []heard) bool { return count(l, "UNSUBSCRIBE") > 0 })
			}
		}
		answer := "ok"
		if err != nil {
			answer = map[bool]string{true: "taken", false: err.Error()}[errors.Is(err, locks.ErrTaken)]
		}
		next := m.mark(t, from, fmt.Sprintf("call-%d", i))
		out = append(out, fmt.Sprintf("# %s %d by %s: %s", c.what, c.n, c.who, answer))
		commands := n.commands(m.slice(from, next-1))
		switch {
		case c.what == "release":
			for i := range commands {
				commands[i] = leaseOfRelease.ReplaceAllString(commands[i], "${1}LEASE ")
			}
			if lock == "multi" {
				commands = byKey(commands, 0)
			}
		case lock == "multi" && c.what == "watched":
			commands = byKey(commands, len(ask(c).Keys)) // the attempts come one after the other
		}
		out = append(out, commands...)
		from = next
	}
	return out
}

// leaseOfRelease finds the lease in the arguments of a release. A lock object of Redisson keeps the lease of its
// last attempt in a field that is not volatile, and the thread that releases may read the value from before.
var leaseOfRelease = regexp.MustCompile(`^(  args [01] )(?:TTL|9000) `)

// byKey sorts the scripts after the first ones by their keys, because a MultiLock renews and releases all its locks at once.
func byKey(lines []string, first int) []string {
	if len(lines) == 0 {
		return nil
	}
	var scripts []string
	for _, line := range lines {
		if last := len(scripts) - 1; strings.HasPrefix(line, " ") && last >= 0 {
			scripts[last] += "\n" + line
			continue
		}
		scripts = append(scripts, line)
	}
	slices.Sort(scripts[min(first, len(scripts)):])
	return strings.Split(strings.Join(scripts, "\n"), "\n")
}

// ran counts the scripts that ran. A script that the server does not know yet calls no command.
func ran(lines []heard) (n int) {
	for i := 1; i < len(lines); i++ {
		if lines[i].lua && isScript(lines[i-1]) {
			n++
		}
	}
	return n
}

func isScript(h heard) bool { return !h.lua && strings.HasPrefix(strings.ToLower(h.args[0]), "eval") }

// normal replaces values that differ between any two runs.
type normal struct{ owners map[string]string }

// idle are the commands that set up and keep connections, and the PTTL with which the Java guest reads its lease after
// a long wait.
var idle = []string{"pttl", "hello", "client", "ping", "info", "select", "command", "script", "echo", "config", "readonly"}

// commands returns the lines of a recording without scripts that the server does not know, and without renewals after the
// first one in a call.
func (n normal) commands(lines []heard) (out []string) {
	var before string
	for i := 0; i < len(lines); i++ {
		h := lines[i]
		switch name := strings.ToLower(h.args[0]); {
		case isScript(h):
			keys, err := strconv.Atoi(h.args[2])
			if err != nil {
				return append(out, fmt.Sprintf("a script without a number of keys: %q", h.args))
			}
			run := []string{
				"script", "  keys " + n.words(h.args[3:3+keys]), "  args " + n.words(h.args[3+keys:]),
			}
			for ; i+1 < len(lines) && lines[i+1].lua; i++ {
				inner := lines[i+1].args
				run = append(run, "  "+strings.ToLower(inner[0])+" "+n.words(inner[1:]))
			}
			if text := strings.Join(run, "\n"); len(run) > 3 && text != before {
				out, before = append(out, run...), text
			}
		case slices.Contains(idle, name):
		case name == "del" && strings.HasPrefix(h.args[1], "redisson_unlock_latch:"): // at any time after a release
		default:
			out, before = append(out, name+" "+n.words(h.args[1:])), ""
		}
	}
	return out
}

var (
	ownerOfJar  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+`)
	latch       = regexp.MustCompile(`(redisson_unlock_latch:\{\w+\}:)[0-9a-f-]+`)
	ownerOfPort = regexp.MustCompile(`\d+-[0-9a-f]{32}:[A-C]`)
)

func (n normal) words(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		for _, of := range []*regexp.Regexp{ownerOfJar, ownerOfPort} {
			arg = of.ReplaceAllStringFunc(arg, func(owner string) string {
				if n.owners[owner] == "" {
					n.owners[owner] = fmt.Sprintf("OWNER%d", len(n.owners)+1)
				}
				return n.owners[owner]
			})
		}
		arg = latch.ReplaceAllString(arg, "${1}LATCH")
		if strings.EqualFold(arg, "publish") {
			arg = "publish" // the server does not care
		}
		if v, err := strconv.ParseInt(arg, 10, 64); err == nil {
			arg = number(v)
		}
		if words[i] = arg; arg == "" {
			words[i] = `""`
		}
	}
	return strings.Join(words, " ")
}

// number returns a number of milliseconds without the part that depends on the speed of the machine.
func number(v int64) string {
	const day = int64(24 * time.Hour / time.Millisecond)
	switch now, ttl := time.Now().UnixMilli(), wireTTL.Milliseconds(); {
	case v > now-day && v < now+day:
		// The clock was read up to 20 s ago. Times are whole tens of seconds, one of them begun, from then on.
		return fmt.Sprintf("NOW+%ds", (v-now+20_000)/30_000*30)
	case v > ttl-20_000 && v <= ttl:
		return "TTL"
	case v > 2*ttl-20_000 && v <= 2*ttl:
		return "2TTL"
	case v >= 16_000 && v <= 20_000:
		return "LATCH" // Redisson draws the pause before it sends a command again, and the port takes the longest
	}
	return strconv.FormatInt(v, 10)
}

// start starts a guest.
func start(t *testing.T, words ...string) *guest.Conn {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	if strings.HasSuffix(words[0], "lockbench") {
		cmd.Args = []string{words[0], "guest", words[1]}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn := guest.NewConn(out, in, guest.ConnOptions{HelloLimit: wireLimit})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-conn.Gone()
		_ = cmd.Wait()
	})
	if _, err := conn.Hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	return conn
}

// jar and port are both recordings of a lock.
func jar(t *testing.T, version, lock string) []string {
	folder := "java/redisson-" + version
	need(t, folder)
	return record(t, lock, filepath.Join(mustAbs(t, built), folder, "run"), wireLocks[lock][0], "watchdog="+wireDog.String())
}

func port(t *testing.T, version, lock string) []string {
	words := append([]string{trialtest.Program(t), wireLocks[lock][1]}, wireVersions[version]...)
	if lock == "fair" && version == "3.15.6" {
		words = append(words, "form=F3")
	}
	return record(t, lock, words...)
}

func wireFile(version, lock string) string {
	return filepath.Join("testdata", "wire", version, lock+".txt")
}

// side returns one of the two recordings in a file: the common lines and the lines with its sign.
func side(t *testing.T, version, lock, sign string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(wireFile(version, lock))
	if err != nil {
		t.Fatalf("%v; with the guests built, go test ./guests -run Wire -update writes it", err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line[:1] == " " || line[:1] == sign {
			lines = append(lines, line[2:])
		}
	}
	return lines
}

// TestWire compares both recordings with those in the files.
func TestWire(t *testing.T) {
	for _, version := range slices.Sorted(maps.Keys(wireVersions)) {
		for _, lock := range slices.Sorted(maps.Keys(wireCalls)) {
			if slices.Contains(wireless, version+"/"+lock) {
				continue
			}
			t.Run(version+"/"+lock, func(t *testing.T) {
				t.Parallel()
				if *update {
					text := diff(jar(t, version, lock), port(t, version, lock))
					if err := errors.Join(os.MkdirAll(filepath.Dir(wireFile(version, lock)), 0o755),
						os.WriteFile(wireFile(version, lock), []byte(text), 0o644)); err != nil {
						t.Fatal(err)
					}
					return
				}
				t.Run("port", func(t *testing.T) { same(t, side(t, version, lock, "+"), port(t, version, lock)) })
				t.Run("jar", func(t *testing.T) { same(t, side(t, version, lock, "-"), jar(t, version, lock)) })
			})
		}
	}
}

// wireReasons are the reasons for lines that only one side has, by their numbers in docs/redisson.md.
var wireReasons = []struct {
	id   string
	line *regexp.Regexp
}{
	{"wire-1", regexp.MustCompile(`^[-+]   (keys .*redisson_(lock__channel|rwlock):\{[ab]\}.*|args [01] (LEASE )?OWNER\d(:write)?( NOW\+0s)?( publish 0)?)$`)},
	{"wire-2", regexp.MustCompile(`^[-+]   (hexists [ab] OWNER\d|hincrby [ab] OWNER\d -1|hget [ab] OWNER\d)$`)},
	{"wire-3", regexp.MustCompile(`^[-+]   (hset a .*|set \{a\}:OWNER\d:rwlock_timeout:\d 1( px \w+)?|pexpire \{a\}:OWNER\d:rwlock_timeout:\d \w+)$`)},
	{"wire-4", regexp.MustCompile(`^[-+]   (hlen a|hkeys a|hgetall a|hget a (mode|OWNER\d(:write)?))$`)},
	{"wire-5", regexp.MustCompile(`^[-+] ( +args TTL OWNER\d (0 NOW\+0s|300000 NOW\+0s|NOW\+0s 300000)| +(zscore|zrem|zadd) redisson_lock_timeout.*| +(rpush|lindex|lrem|lrange) redisson_lock_queue.*|` +
		` +pttl a| +keys redisson_lock_queue:\{a\} redisson_lock_timeout:\{a\}| +args OWNER\d (0|300000)|script)$`)},
	{"wire-6", regexp.MustCompile(`^[-+]   (keys a( \{a\})?|args 9000 (1 )?OWNER1( \{a\})?|hget a OWNER1|hexists a OWNER1)$`)},
	{"wire-7", regexp.MustCompile(`^[-+] (script|  keys [ab]|  args TTL ""|( {2})?pexpire [ab] TTL)$`)},
}

// TestWireDifferences requires a reason for each line that only one side has.
func TestWireDifferences(t *testing.T) {
	docs, err := os.ReadFile("../docs/redisson.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/wire/*/*.txt")
	if err != nil || len(files) != len(wireVersions)*len(wireCalls)-len(wireless) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	used := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
			if strings.HasPrefix(line, " ") {
				continue
			}
			found := false
			for _, r := range wireReasons {
				if r.line.MatchString(line) {
					found, used[r.id] = true, true
				}
			}
			if !found {
				t.Errorf("%s:%d: no reason is known for %q", file, i+1, line)
			}
		}
	}
	for _, r := range wireReasons {
		if !used[r.id] || !strings.Contains(string(docs), "| "+r.id+" |") {
			t.Errorf("%s is no longer needed, or has no row in docs/redisson.md", r.id)
		}
	}
}

func same(t *testing.T, want, got []string) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("what the server hears has changed: - recorded, + heard now\n%s", diff(want, got))
	}
}

// diff returns the lines of two recordings in order, with "- " before a line of a and "+ " before a line of b.
func diff(a, b []string) string {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out.WriteString("  " + a[i] + "\n")
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out.WriteString("- " + a[i] + "\n")
			i++
		default:
			out.WriteString("+ " + b[j] + "\n")
			j++
		}
	}
	return out.String()
}
