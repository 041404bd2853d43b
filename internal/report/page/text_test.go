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

// What is split for a narrow screen is the story to the letter.
func TestStoryLinesAreTheStory(t *testing.T) {
	story := []string{
		`set-nx granted "a" to client 5 while client 3 held it      double-grant, episode 1`,
		`   1.602 s  fault     lag: redis-2 and redis-3 hear nothing from redis-1    :388`,
		`   1.911 s  client 3  acquires "a", lease 8 s, until 9.904 s              ┐ :414`,
		`   4.212 s  client 5  acquires "a"                         both hold from ┤ :431`,
		`   Why      Client 3 had 5.692 s of its lease left and no sign of loss: the lock was`,
		`            granted twice.`,
		`   Harm     85 writes to "a" were lost.`,
	}
	var got []string
	whens, gaps := 0, 0
	for _, l := range storyLines(story) {
		line := l.When
		for _, p := range l.Parts {
			line += p.Text
			if p.Kind == "gap" {
				gaps++
			}
		}
		got = append(got, line)
		if l.When != "" {
			whens++
		}
	}
	if text, want := strings.Join(got, "\n"), strings.Join(story, "\n"); text != want {
		t.Errorf("the story became\n%s\nwant\n%s", text, want)
	}
	if whens != 5 || gaps != 2 {
		t.Errorf("%d lines with a time and %d notes, want 5 and 2", whens, gaps)
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
