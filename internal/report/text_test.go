package report

import "testing"

// TestClipWords: a sentence is cut between words, and a long word anywhere.
func TestClipWords(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"client 1 has released it", 24, "client 1 has released it"},
		{"client 1 has released it", 23, "client 1 has released…"},
		{"client 1 has released it", 20, "client 1 has …"},
		{"client 1 has released it", 13, "client 1 has…"},
		{"client 1 has released it", 14, "client 1 has…"},
		{"an uninterruptible-name", 15, "an uninterrupt…"},
		{"löck über alles", 13, "löck über …"},
	} {
		if got := clipWords(c.text, c.width); got != c.want {
			t.Errorf("%q to %d: got %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain · ✓ é\n\tnext": "plain · ✓ é\n\tnext",
		"a\x1b[2Jb\r":         `a\x1b[2Jb\x0d`,
		"\x00\x7f":            `\x00\x7f`,
		"\u009b1m":            `\u009b1m`, // the same as an escape and a bracket
		"\xff\xfe":            `\xff\xfe`,
		"txt.\u202eexe":       `txt.\u202eexe`, // turns the direction of what follows
		"\uFFFD":              "\uFFFD",        // a sign like any other
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Names of one table keep their beginning and stay distinct when they are cut.
func TestClipNames(t *testing.T) {
	for _, c := range []struct {
		width int
		names []string
		want  []string // nil: they cannot be told apart
	}{
		{20, []string{"LOCK", "set-nx", "redisson/synced-slaves=off"}, []string{"LOCK", "set-nx", "redisson/synced-sla…"}},
		{20, []string{"redisson/synced-slaves=off", "redisson/synced-slaves=on"}, []string{"redisson/synced…=off", "redisson/synced-…=on"}},
		{14, []string{"redlock/nodes=3/drift=0.01", "redlock/nodes=5/drift=0.01"}, nil},
		{20, []string{"redlock/nodes=3/drift=0.01", "redlock/nodes=5/drift=0.01"}, []string{"redlock/nodes=3/dri…", "redlock/nodes=5/dri…"}},
		{12, []string{"set-nx", "set-nx"}, []string{"set-nx", "set-nx"}},
	} {
		rows := make([][]string, len(c.names))
		for i, name := range c.names {
			rows[i] = []string{name}
		}
		if ok := clipNames(rows, c.width); ok != (c.want != nil) {
			t.Errorf("%d columns for %q: %v", c.width, c.names, ok)
			continue
		}
		for i, want := range c.want {
			if rows[i][0] != want {
				t.Errorf("%d columns: got %q, want %q", c.width, rows[i][0], want)
			}
		}
	}
}
