package simredis

import (
	"bufio"
	"cmp"
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// The tables agree with a real server and a real sentinel.
func TestTables(t *testing.T) {
	for _, one := range []struct {
		file, text string
		arguments  []string
	}{
		{"commands.txt", serverText, nil},
		{"commands_sentinel.txt", sentinelText, []string{"--sentinel"}},
	} {
		t.Run(one.file, func(t *testing.T) {
			got := tableOf(t, realServer(t, one.arguments...))
			if *update {
				if err := os.WriteFile(one.file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != one.text {
				t.Errorf("%s is not what a real server says; go test ./internal/virtual/simredis -run Tables -args -update writes it", one.file)
			}
		})
	}
}

// tableOf queries the commands of a server and sorts them, because their order changes with every start.
func tableOf(t *testing.T, addr string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	ask := func(words ...string) element {
		if _, err := conn.Write([]byte(proto.Strings(words...))); err != nil {
			t.Fatal(err)
		}
		return readElement(t, r)
	}
	ask("HELLO", "3")
	all := ask("COMMAND")
	all.sortCommands()
	var b strings.Builder
	for _, command := range all.inside {
		b.WriteString(strings.Join(command.words(), "\t") + "\n")
	}
	return b.String()
}

// element is a part of an answer.
type element struct {
	head   string
	text   []string // of a text
	inside []element
}

func readElement(t *testing.T, r *bufio.Reader) element {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	e := element{head: strings.TrimRight(line, "\r\n")}
	n := 0
	switch e.head[0] {
	case '$':
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		e.text = []string{strings.TrimRight(line, "\r\n")}
	case '*', '~':
		n = length(e.head)
	case '%':
		n = 2 * length(e.head)
	}
	for range n {
		e.inside = append(e.inside, readElement(t, r))
	}
	return e
}

func (e element) words() []string {
	all := append([]string{e.head}, e.text...)
	for _, i := range e.inside {
		all = append(all, i.words()...)
	}
	return all
}

// sortCommands sorts a list of commands, and the subcommands of each.
func (e element) sortCommands() {
	slices.SortFunc(e.inside, func(a, b element) int { return cmp.Compare(a.inside[0].text[0], b.inside[0].text[0]) })
	for _, command := range e.inside {
		command.inside[9].sortCommands()
	}
}

// The simulated server reports a malformed command as a real one does: no arguments, one, too many,
// and unknown subcommands. The commands run within a transaction, where a server only checks the form.
func TestMisuse(t *testing.T) {
	asked := misusesOf(serverTable())
	addr := realServer(t)
	real := answers(t, asked, func() (net.Conn, error) { return net.Dial("tcp", addr) }, inTransaction)
	var simulated []string
	_ = run(t, Model{}, redistest.Spec(locks.Single, world.Spec{}), func(_ context.Context, c *trial) error {
		k := talk(t, c, 1)
		simulated = answers(t, asked, func() (net.Conn, error) { return k.dial(context.Background(), "tcp", c.servers.data[0].addr) }, inTransaction)
		return nil
	})
	for i, words := range asked {
		want, got := real[i], simulated[i]
		switch {
		case strings.HasPrefix(want, "+QUEUED"), !strings.HasPrefix(want, "-"):
			if strings.HasPrefix(got, "-") && !notCovered(got) {
				t.Errorf("%.200q: a real server takes it (%s), the simulated one says %s", words, want, got)
			}
		case got != want:
			t.Errorf("%.200q:\n real      %s\n simulated %s", words, want, got)
		}
	}
	if len(asked) < 1000 {
		t.Errorf("only %d things were asked", len(asked))
	}
}

// inTransaction wraps a command in a transaction, so that a server checks it without executing it.
const inTransaction = "MULTI"

// answers sends each command on a separate connection.
func answers(t *testing.T, asked [][]string, dial func() (net.Conn, error), before string) (all []string) {
	for _, words := range asked {
		conn, err := dial()
		if err != nil {
			t.Error(err)
			return make([]string, len(asked))
		}
		r := bufio.NewReader(conn)
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if before != "" {
			_, _ = conn.Write([]byte(proto.Strings(before)))
			_, _ = reply(r)
		}
		_, _ = conn.Write([]byte(proto.Strings(words...)))
		said, err := reply(r)
		if err != nil {
			said = "read: " + err.Error()
		}
		all = append(all, said)
		_ = conn.Close()
	}
	return all
}

// Covered commands answer invalid arguments as a real server does, or with the simulation's refusal.
func TestArguments(t *testing.T) {
	var asked [][]string
	for _, name := range sortedNames(serverTable()) {
		if _, ok := covered()[strings.ToUpper(name)]; !ok || ownWords[name] {
			continue
		}
		asked = append(asked, []string{name}, []string{name, "x"}, []string{name, "x", "100000", "y"}, append([]string{name}, many...))
		if !covered()[strings.ToUpper(name)].blocks { // the argument is a number of seconds
			asked = append(asked, []string{name, "x", "100000"})
		}
	}
	var simulated []string
	_ = run(t, Model{}, redistest.Spec(locks.Single, world.Spec{}), func(_ context.Context, c *trial) error {
		k := talk(t, c, 1)
		simulated = answers(t, asked, func() (net.Conn, error) { return k.dial(context.Background(), "tcp", c.servers.data[0].addr) }, "")
		return nil
	})
	addr := realServer(t)
	real := answers(t, asked, func() (net.Conn, error) { return net.Dial("tcp", addr) }, "")
	compared := 0
	for i, words := range asked {
		if notCovered(simulated[i]) || strings.Contains(simulated[i], "does not know this script") {
			continue
		}
		if compared++; simulated[i] != real[i] && !strings.HasPrefix(simulated[i], "-ERR Error compiling script") {
			t.Errorf("%.200q:\n real      %s\n simulated %s", words, real[i], simulated[i])
		}
	}
	if compared < 200 {
		t.Errorf("only %d things were compared", compared)
	}
}

// ownWords are the commands whose answers depend on the server itself or on the time.
var ownWords = map[string]bool{"command": true, "hello": true, "info": true, "client": true, "ttl": true, "pttl": true, "time": true}

var many = strings.Fields(strings.Repeat("x ", 30))

func sortedNames(t table) []string {
	var names []string
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// notCovered reports whether an answer is the simulation's refusal of a command.
func notCovered(answer string) bool { return strings.Contains(answer, "the simulation does not cover") }

// The simulated sentinel reports malformed commands like a real one.
func TestMisuseOfSentinels(t *testing.T) {
	var asked [][]string
	for _, words := range misusesOf(sentinelTable()) {
		if _, wrong := sentinelTable().misused(words, false); wrong {
			asked = append(asked, words)
		}
	}
	asked = append(asked, []string{"GET", "x"}, []string{"sentinel", "masters", "x"},
		[]string{"SENTINEL", "get-master-addr-by-name", "unknown"}, []string{"SENTINEL", "replicas", "unknown"}, []string{"SENTINEL", "sentinels", "unknown"},
		[]string{"HELLO", "4"}, []string{"ping"}, []string{"ping", "x"}, []string{"client", "getname"}, []string{"client", "setinfo", "lib-name", "x"})
	var simulated []string
	_ = run(t, Model{}, redistest.Spec(locks.Sentinel, world.Spec{}), func(_ context.Context, c *trial) error {
		at := c.servers.sentinels[1].addr // the sentinel that answers client 1
		k := talk(t, c, 1)
		simulated = answers(t, asked, func() (net.Conn, error) { return k.dial(context.Background(), "tcp", at) }, "")
		return nil
	})
	addr := realServer(t, "--sentinel")
	real := answers(t, asked, func() (net.Conn, error) { return net.Dial("tcp", addr) }, "")
	for i, words := range asked {
		if simulated[i] != real[i] {
			t.Errorf("%.200q:\n real      %s\n simulated %s", words, real[i], simulated[i])
		}
	}
	if len(asked) < 50 {
		t.Errorf("only %d things were asked", len(asked))
	}
}

// misusesOf returns commands without arguments, with one, with too many, and with unknown subcommands.
func misusesOf(table table) (asked [][]string) {
	for _, name := range sortedNames(table) {
		asked = append(asked, []string{name}, []string{name, "x"}, append([]string{name}, many...), []string{strings.ToUpper(name), "No such\r\nthing", "x"})
		for _, sub := range sortedNames(table[name].subs) {
			asked = append(asked, []string{name, sub}, []string{strings.ToUpper(name), strings.ToUpper(sub)}, []string{name, sub, "x"}, append([]string{name, sub}, many...))
		}
	}
	return append(asked, []string{"Nothing"}, []string{"nothing", "x", "a\r\nb"}, append([]string{"noThing"}, many...),
		[]string{strings.Repeat("long", 100), strings.Repeat("x", 100), strings.Repeat("y", 100), "z"}, []string{"hexpire", "x"}, []string{"Vadd", "x"})
}
