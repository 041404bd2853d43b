//go:build unix

package guests

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/needs"
)

func TestOptionsOfCurator(t *testing.T) {
	got, err := properties([]string{"listener=off", "session=3s", "connection-timeout=1s", "retry=100ms"})
	if want := []string{"-Dlistener=off", "-Dsession=3000", "-Dconnection-timeout=1000", "-Dretry=100"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for word, want := range map[string]string{
		"listener=maybe": "neither on nor off", "session=2": "not a duration", "retry=0s": "not a duration", "sesion=2s": "no option sesion",
	} {
		if _, err := properties([]string{word}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
}

func TestOptionsOfKazoo(t *testing.T) {
	for _, word := range []string{"session", "session=2", "listener=on"} {
		if err := serveKazoo([]string{word}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// guestVariable makes this test binary a guest.
const guestVariable = "LOCKBENCH_TEST_GUEST"

// Invalid requests are refused before any request to a server.
func TestBadRequests(t *testing.T) {
	guests := map[string]func([]string) error{curator: serveCurator, kazoo: serveKazoo}
	if name := os.Getenv(guestVariable); name != "" {
		t.Fatal(guests[name](nil))
	}
	for name := range guests {
		for _, with := range []string{`"key":""`, `"key":"a","ttl_ns":-1000000000`, `"key":"a","wait_ns":-1000000000`} {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBadRequests$")
			cmd.Env = append(os.Environ(), guestVariable+"="+name)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(in, `{"id":1,"op":"acquire","session":"1.1",`+with+"}\n") // or it has told why
			lines := bufio.NewReader(out)
			hello, _ := lines.ReadString('\n')
			answer, _ := lines.ReadString('\n')
			_ = in.Close() // not before: a guest ends with it
			rest, _ := io.ReadAll(lines)
			_ = cmd.Wait()
			said := hello + answer + string(rest)
			for line := range strings.Lines(said) {
				if _, why, ok := strings.Cut(line, "there is no "); ok && strings.Contains(why, "apt-get install") {
					needs.OrSkip(t, "zookeeper", errors.New("there is no "+strings.TrimSpace(why)))
				}
			}
			if !strings.Contains(answer, `"bad-request"`) {
				t.Errorf("%s, asked with %s, says %s", name, with, said)
			}
		}
	}
}
