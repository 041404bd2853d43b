//go:build linux

// Package hooktest provides hooks through which world external calls the test that runs its
// servers.
package hooktest

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Orders are what hooks ask of a test.
type Orders struct {
	t        testing.TB
	nodes    map[string]string // addresses, by the names that the test has
	obey     func(order string, nodes []string) error
	listener net.Listener
	serving  sync.WaitGroup
}

// Listen serves what hooks ask for, until Close. Nodes are known to hooks as my-NAME.
func Listen(t testing.TB, nodes map[string]string, obey func(order string, nodes []string) error) *Orders {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &Orders{t: t, nodes: nodes, obey: obey, listener: l}
	o.serving.Go(o.serve)
	return o
}

// Close ends that.
func (o *Orders) Close() {
	o.listener.Close()
	o.serving.Wait()
}

func (o *Orders) serve() {
	for {
		c, err := o.listener.Accept()
		if err != nil {
			return
		}
		o.serving.Go(func() {
			defer c.Close()
			line, _ := bufio.NewReader(c).ReadString('\n')
			answer := "ok"
			if err := o.take(strings.Fields(line)); err != nil {
				answer = strings.ReplaceAll(err.Error(), "\n", " ")
			}
			fmt.Fprintln(c, answer)
		})
	}
}

func (o *Orders) take(words []string) error {
	if len(words) < 2 {
		return errors.New("no order")
	}
	var nodes []string
	for _, w := range words[1:] {
		name, ours := strings.CutPrefix(w, "my-")
		if _, known := o.nodes[name]; !known || !ours {
			return fmt.Errorf("no server is called %q", w)
		}
		nodes = append(nodes, name)
	}
	return o.obey(words[0], nodes)
}

// File writes a file of hooks into a folder, and returns its path: all hooks that there are,
// but for lines of the test's own.
func (o *Orders) File(dir string, own ...string) string {
	o.t.Helper()
	script := filepath.Join(dir, "hook")
	at := o.listener.Addr().(*net.TCPAddr).Port
	o.write(script, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; echo \"$*\" >&3; read -r said <&3; echo \"$said\"; [ \"$said\" = ok ]\n", at))
	lines := []string{"nodes:"}
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		lines = append(lines, fmt.Sprintf("  my-%s: %s", name, o.nodes[name]))
	}
	lines = append(lines, "hooks:")
	for _, hook := range []string{"kill", "start", "wipe", "pause", "resume", "promote"} {
		lines = append(lines, fmt.Sprintf("  %s: bash %s %[1]s {node}", hook, script))
	}
	for _, hook := range []string{"cut", "join"} {
		lines = append(lines, fmt.Sprintf("  %s: bash %s %[1]s {from} {to}", hook, script))
	}
	for _, line := range own {
		name, _, _ := strings.Cut(line, ":")
		for i := range lines {
			if strings.HasPrefix(lines[i], "  "+name+": ") {
				lines[i] = "  " + line
			}
		}
	}
	path := filepath.Join(dir, "hooks.yaml")
	o.write(path, strings.Join(lines, "\n")+"\n")
	return path
}

func (o *Orders) write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		o.t.Fatal(err)
	}
}
