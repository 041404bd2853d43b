package page

import "testing"

func TestFlagsStayWhole(t *testing.T) {
	for text, want := range map[string]string{
		"a < b; --episodes 30 narrows": `a &lt; b; <span class="flag">--episodes 30</span> narrows`,
		"fail: --expect valid":         `fail: <span class="flag">--expect valid</span>`,
		"set -- and a--b":              "set -- and a--b",
	} {
		if got := string(flags(text)); got != want {
			t.Errorf("%q is set as %q, want %q", text, got, want)
		}
	}
}
