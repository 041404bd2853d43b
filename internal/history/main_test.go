package history

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text makes a history of a header and lines; the quotes of JSON may be single.
func text(lines ...string) string {
	return strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "'", `"`)
}

func mustRead(t *testing.T, lines ...string) *History {
	t.Helper()
	h, err := Read(strings.NewReader(text(lines...)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// line makes an event of a process, a type, an operation and a session.
func line(process int, typ, f, session, more string) string {
	return fmt.Sprintf("{'process':%d,'type':'%s','f':'%s','session':'%s'%s}", process, typ, f, session, more)
}

const header = "{'lockbench':'history/1'}"

// Encode writes a history as JSON lines, with the indexes of its events.
func (h *History) Encode(w io.Writer) error {
	lines, err := appendLine(nil, &h.Header)
	for pos := 0; pos < len(h.Events) && err == nil; pos++ {
		lines, err = AppendEvent(lines, &h.Events[pos])
	}
	if err != nil {
		return err
	}
	_, err = w.Write(lines)
	return err
}
