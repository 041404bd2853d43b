package report

import "testing"

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
