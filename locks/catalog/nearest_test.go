package catalog

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	names := []string{"set-nx", "set-nx-fenced", "set-del", "redlock", "in-process", "no-lock"}
	for word, want := range map[string]string{
		"set-xn": "set-nx", "setnx": "set-nx", "set_nx": "set-nx", "SET-NX": "set-nx",
		"redlok": "redlock", "redl": "redlock", "in-proces": "in-process",
		"set-nx-": "set-nx", "set-nx-fence": "set-nx-fenced", "inprocess": "in-process",
		"mutex": "", "set": "", "x": "", "": "", "zookeeper": "",
	} {
		got, ok := Nearest(word, names)
		if got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v; want %q", word, got, ok, want)
		}
	}
}

// The table is compared with the definition, which is too slow for more.
func TestDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abc")), 0, 6)
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		const limit = 100
		if got, want := distance(a, b, limit), byDefinition(a, b); got != want {
			t.Errorf("distance(%q, %q) = %d, want %d", string(a), string(b), got, want)
		}
	})
}

func byDefinition(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	m, n := len(a)-1, len(b)-1
	change := byDefinition(a[:m], b[:n])
	if a[m] != b[n] {
		change++
	}
	best := min(change, byDefinition(a[:m], b)+1, byDefinition(a, b[:n])+1)
	if m > 0 && n > 0 && a[m] == b[n-1] && a[m-1] == b[n] {
		best = min(best, byDefinition(a[:m-1], b[:n-1])+1)
	}
	return best
}
