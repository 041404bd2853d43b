package page

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

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

func TestViolationFrame(t *testing.T) {
	drawing := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	v := Violation{Scenario: "failover", Lock: "a<b/c=1", Class: "double-grant", Seed: 7, Episode: 2}
	var b bytes.Buffer
	if err := v.Frame(&b, drawing("<head><title>Porcupine</title></head><body>drawn</body>")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>a&lt;b/c=1: double-grant, episode 2 - failover, seed 7 - lockbench</title>", `href="../report.html#lock-a_3Cb`, "default-src 'none'", "drawn</body>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if err := v.Frame(io.Discard, drawing("<html>another form")); err == nil {
		t.Error("a drawing of another form was framed")
	}
	failed := errors.New("no drawing")
	if err := v.Frame(io.Discard, func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a drawing that failed ends with %v", err)
	}
}
