package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"lockbench/internal/service"
)

func parse(pieces ...string) []string {
	var got []string
	w := service.NewRequestWriter(wire, func(name []byte) { got = append(got, string(name)) })
	for _, piece := range pieces {
		_, _ = w.Write([]byte(piece))
	}
	return got
}

func TestParser(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		want       []string
	}{
		{"array", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", []string{"GET"}},
		{"lower case", "*1\r\n$4\r\nping\r\n", []string{"PING"}},
		{"line", "set k v\r\n  ping\n", []string{"SET", "PING"}},
		{"empty lines", "\r\n\r\nPING\r\n", []string{"PING"}},
		{"empty array", "*0\r\n*-1\r\nPING\r\n", []string{"PING"}},
		{"not yet complete", "*2\r\n$3\r\nGET\r\n$1\r\nk\r", nil},
		{"an argument that looks like a command", "*2\r\n$4\r\nECHO\r\n$14\r\n*1\r\n$4\r\nPING\r\n\r\n", []string{"ECHO"}},
		{"pipeline", strings.Repeat("*1\r\n$4\r\nPING\r\n", 3), []string{"PING", "PING", "PING"}},
		{"no string where one must be", "*1\r\n:1\r\nPING\r\n", nil},
		{"length out of bounds", "*1\r\n$-1\r\nPING\r\n", nil},
		{"no number", "*x\r\nPING\r\n", nil},
		{"endless number", "*" + strings.Repeat("1", 100), nil},
		{"endless line", strings.Repeat("a", 1<<17) + "\nPING\n", nil},
		{"long name", "*1\r\n$99\r\n" + strings.Repeat("a", 99) + "\r\nPING\r\n", []string{strings.Repeat("A", nameMax), "PING"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, parse(c.sent)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.want, parse(strings.Split(c.sent, "")...)); diff != "" {
				t.Errorf("byte by byte: %s", diff)
			}
		})
	}
}

func TestParserWhateverThePieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent strings.Builder
		var want []string
		for range rapid.IntRange(0, 8).Draw(t, "commands") {
			name := rapid.StringMatching(`[A-Za-z]{1,12}`).Draw(t, "name")
			want = append(want, strings.ToUpper(name))
			if rapid.Bool().Draw(t, "line") {
				fmt.Fprintf(&sent, "%s %s\r\n", name, rapid.StringMatching(`[ -~]{0,8}`).Draw(t, "rest"))
				continue
			}
			args := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 20), 0, 4).Draw(t, "args")
			fmt.Fprintf(&sent, "*%d\r\n$%d\r\n%s\r\n", len(args)+1, len(name), name)
			for _, arg := range args {
				fmt.Fprintf(&sent, "$%d\r\n%s\r\n", len(arg), arg)
			}
		}
		var pieces []string
		for rest := sent.String(); rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if diff := cmp.Diff(want, parse(pieces...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzParser(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), 3)
	f.Add([]byte("*-1\r\n$0\r\n\r\nget\x00\r\n*1\r\n$"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		at := 0
		if len(data) > 0 {
			at = max(0, cut) % len(data)
		}
		whole, halves := parse(string(data)), parse(string(data[:at]), string(data[at:]))
		if !slices.Equal(whole, halves) {
			t.Errorf("in one piece %q, in two %q", whole, halves)
		}
	})
}
