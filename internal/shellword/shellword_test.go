package shellword

import (
	"os/exec"
	"testing"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"failover":      "failover",
		"./my run":      "'./my run'",
		"":              "''",
		"it's":          `'it'\''s'`,
		"a\nb":          "'a\nb'",
		"${HOME}":       "'${HOME}'",
		"redlock/n=3":   "redlock/n=3",
		"5ms..50ms":     "5ms..50ms",
		"a;rm -rf all":  "'a;rm -rf all'",
		"it's\x1b[2J\\": `$'it\'s\x1b[2J\\'`,
		"a\xffb":        `$'a\xffb'`,
	} {
		if got := Quote(word); got != want {
			t.Errorf("Quote(%q): got %s, want %s", word, got, want)
		}
	}
}

// TestShellReadsWhatWasQuoted lets a shell read each word.
func TestShellReadsWhatWasQuoted(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	words := []string{"out dir", "it's", `a"b`, "$HOME", "`id`", `back\slash`, "a\tb", "*", "~", "#x", "a;b", "", "\x1b[2J", "a\xffb", "zażółć", "a=b", "!x"}
	got, err := exec.Command(sh, "-c", `printf '%s\0' `+Join(words...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, w := range words {
		want = append(append(want, w...), 0)
	}
	if string(got) != string(want) {
		t.Errorf("the shell read %q, want %q", got, want)
	}
}
