package simredis

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/needs"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

var update = flag.Bool("update", false, "rewrite testdata/conformance.txt and testdata/tracking.txt with what a real redis-server answers")

const (
	conformanceFile = "testdata/conformance.txt"
	trackingFile    = "testdata/tracking.txt"
)

// conformanceFiles returns the file of all locks and those of single locks, which lie next to their
// scripts.
func conformanceFiles(t *testing.T) []string {
	files, err := filepath.Glob("../../../locks/*/conformance.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files next to scripts: %v", err)
	}
	return append(files, conformanceFile)
}

// conformanceText returns the text of all these files.
func conformanceText(t *testing.T) string {
	var all strings.Builder
	for _, file := range conformanceFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// The simulated server answers like a real server. Every command of the files goes to both, and both must give the answers
// in the files.
func TestConformance(t *testing.T) {
	for _, file := range conformanceFiles(t) {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { conforms(t, file) })
	}
}

// The messages to connections with client-side caching are equal too.
func TestTrackingConformance(t *testing.T) { conforms(t, trackingFile) }

func conforms(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("real", func(t *testing.T) {
		addr := realServer(t)
		got := converse(t, string(text), func() (net.Conn, error) { return net.Dial("tcp", addr) })
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			text = []byte(got)
		}
		if diff := cmp.Diff(string(text), got); diff != "" {
			t.Errorf("a real server answers otherwise than the file says (-file +server):\n%s", diff)
		}
	})
	t.Run("simulated", func(t *testing.T) {
		var got string
		err := run(t, Model{}, redistest.Spec(locks.Single, world.Spec{}), func(ctx context.Context, c *trial) error {
			k := talk(t, c, 1)
			got = converse(t, string(text), func() (net.Conn, error) { return k.dial(ctx, "tcp", c.servers.data[0].addr) })
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(string(text), got); diff != "" {
			t.Errorf("the simulated server answers otherwise than a real one (-real +simulated):\n%s", diff)
		}
	})
}

// Every command and every script of the files is covered, and the files have every covered command that can write.
func TestConformanceIsWhole(t *testing.T) {
	text := conformanceText(t)
	tried := map[string]bool{}
	var list strings.Builder
	for _, file := range scriptFiles(t) {
		script, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		short := strings.TrimPrefix(filepath.ToSlash(file), "../../../locks/")
		if !strings.Contains(text, "EVAL @"+short) || !strings.Contains(text, "EVALSHA #"+short) {
			t.Errorf("%s is not tried, by its text and by its digest: write it into the conformance.txt next to it (docs/contributing/lock.md)", short)
		}
		fmt.Fprintf(&list, "%s %s\n", digest(string(script)), short)
	}
	if *update {
		if err := os.WriteFile("scripts.txt", []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if list.String() != comparedText {
		t.Errorf("scripts.txt is not the list of scripts; go test ./internal/virtual/simredis -run Conformance -args -update writes it")
	}
	for line := range strings.Lines(text) {
		if _, command, ok := prompt(line); ok {
			if name := strings.ToUpper(strings.Fields(command)[0]); name != "NOTHING" {
				tried[name] = true
			}
		}
	}
	for name := range covered() {
		// HELLO is answered by the network, with a greeting that names no connection.
		if !tried[name] && name != "HELLO" {
			t.Errorf("%s is let through and never compared with a real server", name)
		}
	}
	for name := range tried {
		if _, ok := covered()[name]; !ok {
			t.Errorf("%s is compared and not let through", name)
		}
	}
}

// converse sends the commands of a script and returns the script with the answers:
//
//	1> SET a x NX      a command on connection 1, and the answer in the lines below
//	2<                 a message on connection 2 that was not an answer
//	sleep 30ms
func converse(t *testing.T, script string, dial func() (net.Conn, error)) string {
	conns := map[string]net.Conn{}
	readers := map[string]*bufio.Reader{}
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		at, command, asks := prompt(line)
		pushed := strings.HasSuffix(line, "<") && !asks
		switch {
		case strings.HasPrefix(line, "  "):
			continue // an old answer
		case strings.HasPrefix(line, "sleep "):
			d, err := time.ParseDuration(strings.TrimPrefix(line, "sleep "))
			if err != nil {
				t.Error(err)
			}
			time.Sleep(d)
		}
		out.WriteString(line + "\n")
		if pushed {
			at = strings.TrimSuffix(line, "<")
		}
		if !asks && !pushed {
			continue
		}
		if conns[at] == nil {
			c, err := dial()
			if err != nil {
				t.Error(err)
				return out.String()
			}
			conns[at], readers[at] = c, bufio.NewReader(c)
		}
		_ = conns[at].SetDeadline(time.Now().Add(5 * time.Second))
		if asks {
			if _, err := conns[at].Write([]byte(proto.Strings(words(t, command)...))); err != nil {
				fmt.Fprintf(&out, "  write: %v\n", err)
				continue
			}
		}
		answer, err := reply(readers[at])
		if err != nil {
			answer = "read: " + err.Error()
		}
		if strings.HasPrefix(command, "INFO ") {
			answer = strings.Join(regexp.MustCompile(`role:\w+|connected_slaves:\d+`).FindAllString(answer, -1), " ")
		}
		if strings.HasPrefix(command, "TIME") {
			answer = clockTime.ReplaceAllString(answer, `["SECONDS", "MICROSECONDS"]`)
		}
		if greeted := protocol.FindString(answer); strings.HasPrefix(command, "HELLO ") && greeted != "" {
			answer = greeted // the rest contains the number of the connection
		}
		for l := range strings.Lines(answer) {
			out.WriteString("  " + strings.TrimRight(l, "\n") + "\n")
		}
	}
	return out.String()
}

// clockTime is the answer to TIME, which no two servers give alike. The scripts of the file compute with it.
var clockTime = regexp.MustCompile(`^\["\d+", "\d{1,6}"\]$`)

var protocol = regexp.MustCompile(`"proto", :\d`)

func prompt(line string) (at, command string, ok bool) {
	at, command, ok = strings.Cut(strings.TrimRight(line, "\n"), "> ")
	if _, err := strconv.Atoi(at); err != nil {
		return "", "", false
	}
	return at, command, ok
}

// words splits a command. 'a b' is one word, @file the text of a script, #file its digest.
func words(t *testing.T, command string) []string {
	var out []string
	for len(command) > 0 {
		command = strings.TrimLeft(command, " ")
		if command == "" {
			break
		}
		var word string
		if command[0] == '\'' {
			word, command, _ = strings.Cut(command[1:], "'")
		} else {
			word, command, _ = strings.Cut(command, " ")
		}
		if kind := word[:min(1, len(word))]; (kind == "@" || kind == "#") && strings.HasSuffix(word, ".lua") {
			text, err := os.ReadFile(filepath.Join("../../../locks", word[1:]))
			if err != nil {
				t.Error(err)
			}
			if word = string(text); kind == "#" {
				word = digest(word)
			}
		}
		out = append(out, word)
	}
	return out
}

// reply reads one answer and formats it for the files.
func reply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch line[0] {
	case '$':
		n, _ := strconv.Atoi(line[1:])
		if n < 0 {
			return "nil", nil
		}
		b := make([]byte, n+2)
		_, err := io.ReadFull(r, b)
		return strconv.Quote(string(b[:n])), err
	case '_':
		return "nil", nil
	case '*', '>', '~', '%':
		n, _ := strconv.Atoi(line[1:])
		if n < 0 {
			return "nil list", nil
		}
		kind := strings.TrimLeft(line[:1], "*")
		if kind == "%" {
			n *= 2
		}
		var all []string
		for range n {
			one, err := reply(r)
			if err != nil {
				return "", err
			}
			all = append(all, one)
		}
		return kind + "[" + strings.Join(all, ", ") + "]", nil
	}
	return line, nil
}

// realServer starts a redis-server for the test. Without one it skips the test.
func realServer(t *testing.T, arguments ...string) string {
	path, err := exec.LookPath("redis-server")
	needs.OrSkip(t, "local", err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	// A sentinel needs a file that it can write.
	config := filepath.Join(t.TempDir(), "redis.conf")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{config, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir()}, arguments...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 2000 {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the redis-server does not answer")
	return ""
}
