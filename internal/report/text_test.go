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
