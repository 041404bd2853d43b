package proxy

import "sync"

// Requests counts the commands that a client has sent to all nodes, by upper-case name, without
// lockbench's own pings. A command that the client library sends again counts twice.
func (p *Proxy) Requests(client string) map[string]int {
	total := map[string]int{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, c := range p.counters {
		if at.From == client {
			c.addTo(total)
		}
	}
	if p.options.Wire.Request == nil {
		return total
	}
	sign := p.options.Wire.Sign
	if total[sign] -= p.greets[client]; total[sign] <= 0 {
		delete(total, sign)
	}
	return total
}

// Greeted notes that lockbench is about to ping a node on behalf of a client.
func (p *Proxy) Greeted(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.greets[client]++
}

// counter counts the commands of one client at one node.
type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

// otherCommand counts malformed names, and names beyond commandsMax.
const otherCommand = "?"

// nameMax and commandsMax bound the memory that a client with malformed requests can use.
const (
	nameMax     = 40
	commandsMax = 500
)

func newCounter() *counter { return &counter{counts: map[string]int{}} }

func (c *counter) add(name []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.counts[string(name)]; ok {
		c.counts[string(name)] = n + 1
		return
	}
	if len(c.counts) >= commandsMax || !isCommand(name) {
		c.counts[otherCommand]++
		return
	}
	c.counts[string(name)] = 1
}

func (c *counter) addTo(total map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range c.counts {
		total[name] += n
	}
}

func isCommand(name []byte) bool {
	for _, b := range name {
		if (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' && b != '.' && b != '-' && b != '|' {
			return false
		}
	}
	return len(name) > 0 && len(name) < nameMax
}
