package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"lockbench/internal/guest"
	"lockbench/internal/world"
)

// Missteps are mistakes of one lock's clients that no operation shows. They help the lock's author. The zero value is
// ready to use.
type Missteps struct {
	mu                   sync.Mutex
	lock                 []string // not of a single client
	noise, ended, killed misstep
}

// misstep is a kind of mistake, with an example.
type misstep struct {
	clients int    // how many made it
	client  int    // the one with the lowest number
	text    string // describes its mistake
}

func (s *misstep) add(client int, text string) {
	if s.clients++; s.clients == 1 || client < s.client {
		s.client, s.text = client, text
	}
}

// Hello checks the hello of a guest.
func (m *Missteps) Hello(h guest.Hello) {
	if h.Unknown != "" {
		m.note("its hello has an " + h.Unknown + ", which lockbench ignores")
	}
}

func (m *Missteps) note(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lock = append(m.lock, text)
}

// Heard collects the mistakes of a client at its end. byItself reports that the client ended without a request.
func (m *Missteps) Heard(id int, client world.Client, byItself bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if heard := client.Conn().Heard(); heard.Lines > 0 {
		m.noise.add(id, heard.Advice)
	}
	if process, ok := client.(speaker); ok && byItself {
		m.ended.add(id, fmt.Sprintf("it ended by itself and had written last: %q", process.LastLine()))
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
	m.killed.add(id, fmt.Sprintf("it did not answer and was killed: %v", why))
}

// rejecter is a cluster that refuses connections that come from neither clients nor nodes.
type rejecter interface {
	// Rejected returns the number of refused connections.
	Rejected() int
}

// shared is a cluster whose servers other programs may use as well.
type shared interface {
	// StrayKeys lists keys that appeared during the run and are not of it.
	StrayKeys(ctx context.Context) []string
}

// Strayed records keys that a guest seems to have made on servers of others. The run does not remove them.
func (m *Missteps) Strayed(keys []string) {
	const named = 3
	text := fmt.Sprintf("keys that are not named after the locks of this run appeared on the servers, and lockbench does not remove them: %q", keys[:min(len(keys), named)])
	if more := len(keys) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	m.note(text + "; if the guest made them, let their names contain the key of its request")
}

// Rejected records refused connections. It is called if servers answered no client.
func (m *Missteps) Rejected(n int) {
	m.note(fmt.Sprintf("connections from unknown addresses: %d; open every connection with Client.Store.Dial (go-redis: Dialer)", n))
}

// Notes returns one line for each kind of mistake.
func (m *Missteps) Notes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := slices.Clone(m.lock)
	for _, s := range []misstep{m.noise, m.ended, m.killed} {
		if s.clients == 0 {
			continue
		}
		note := fmt.Sprintf("client %d: %s", s.client, strings.ReplaceAll(s.text, "\n", "; "))
		if s.clients > 1 {
			note += fmt.Sprintf(" (the same with %d clients)", s.clients)
		}
		notes = append(notes, note)
	}
	return notes
}
