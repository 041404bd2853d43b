package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
)

// Missteps are mistakes of one lock's clients that are not part of the history. They help the lock's author. The zero
// value is ready to use.
type Missteps struct {
	mu       sync.Mutex
	hello    []string
	noise    []misstep // text is the advice
	lines    int
	ended    []misstep // text is the last line of its standard error
	killed   []misstep // text is the reason
	rejected string
}

// misstep is a mistake of one client.
type misstep struct {
	client int
	text   string
}

// Hello checks the hello of a guest.
func (m *Missteps) Hello(h guest.Hello) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range h.Strange {
		where, hint := "its hello has", ""
		if f.Of != "" {
			where = fmt.Sprintf("the %s of its hello have", f.Of)
		}
		if near, ok := catalog.Nearest(f.Name, f.Known); ok {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		m.hello = append(m.hello, fmt.Sprintf("%s a field %q, which the protocol does not have and lockbench ignores%s", where, f.Name, hint))
	}
}

// Heard collects the mistakes of a client at its end. byItself reports that the client ended without a request.
func (m *Missteps) Heard(id int, client world.Client, byItself bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if heard := client.Conn().Heard(); heard.Lines > 0 {
		m.noise = append(m.noise, misstep{id, heard.Advice})
		m.lines += heard.Lines
	}
	if process, ok := client.(speaker); ok && byItself {
		m.ended = append(m.ended, misstep{id, process.LastLine()})
	}
}

// speaker is a client with a process whose standard error is captured.
type speaker interface {
	// LastLine returns the last line of standard error, or an empty string.
	LastLine() string
}

// Killed records that a client had to be killed.
func (m *Missteps) Killed(id int, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killed = append(m.killed, misstep{id, why.Error()})
}

// rejecter is a cluster that refuses connections that come from neither clients nor nodes.
type rejecter interface {
	// Rejected returns the number of refused connections.
	Rejected() int
}

// Rejected records refused connections. It is called if servers answered no client.
func (m *Missteps) Rejected(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	came := "a connection came from an unknown address"
	if n > 1 {
		came = fmt.Sprintf("%d connections came from unknown addresses", n)
	}
	m.rejected = came + ": open every connection with Client.Store.Dial (go-redis: Dialer)"
}

// Notes returns one line for each kind of mistake.
func (m *Missteps) Notes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := slices.Clone(m.hello)
	if m.rejected != "" {
		notes = append(notes, m.rejected)
	}
	if len(m.noise) > 0 {
		one := firstClient(m.noise)
		note := fmt.Sprintf("client %d: %s", one.client, one.text)
		if m.lines > 1 {
			note += fmt.Sprintf(" (%d such lines from %s)", m.lines, clients(len(m.noise)))
		}
		notes = append(notes, note)
	}
	if len(m.ended) > 0 {
		one := firstClient(m.ended)
		said := "and had written nothing on standard error"
		if one.text != "" {
			said = fmt.Sprintf("and had written last: %q", one.text)
		}
		if n := len(m.ended); n > 1 {
			notes = append(notes, fmt.Sprintf("%d clients ended by themselves; client %d was one of them, %s", n, one.client, said))
		} else {
			notes = append(notes, fmt.Sprintf("client %d ended by itself, %s", one.client, said))
		}
	}
	if len(m.killed) > 0 {
		one := firstClient(m.killed)
		note := fmt.Sprintf("client %d did not answer and was killed: %s", one.client, one.text)
		if n := len(m.killed); n > 1 {
			note = fmt.Sprintf("%d clients did not answer and were killed; client %d: %s", n, one.client, one.text)
		}
		notes = append(notes, note)
	}
	for i := range notes {
		notes[i] = strings.ReplaceAll(notes[i], "\n", "; ")
	}
	return notes
}

// firstClient returns the mistake with a text of the client with the lowest number.
func firstClient(all []misstep) misstep {
	return slices.MinFunc(all, func(a, b misstep) int {
		if (a.text == "") != (b.text == "") {
			return cmp.Compare(len(b.text), len(a.text))
		}
		return cmp.Compare(a.client, b.client)
	})
}

func clients(n int) string {
	if n == 1 {
		return "one client"
	}
	return fmt.Sprintf("%d clients", n)
}
