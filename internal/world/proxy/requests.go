package proxy

import (
	"maps"
	"sync"
)

// Requests counts the commands that a client has sent to all nodes, by upper-case name, without
// lockbench's own pings. A command that the client library sends again counts twice.
func (p *Proxy) Requests(client string) map[string]int {
	e := p.end(client)
	total := e.requests.all()
	if p.options.Wire.Request == nil {
		return total
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sign := p.options.Wire.Sign
	if total[sign] -= e.greets; total[sign] <= 0 {
		delete(total, sign)
	}
	return total
}

// Greeted notes that lockbench is about to ping a node on behalf of a client.
func (p *Proxy) Greeted(client string) {
	e := p.end(client)
	p.mu.Lock()
	defer p.mu.Unlock()
	e.greets++
}

// counter counts the commands of one client.
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

func (c *counter) add(name []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
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

// all returns a copy of the counts.
func (c *counter) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]int{}
	maps.Copy(all, c.counts)
	return all
}

func isCommand(name []byte) bool {
	for _, b := range name {
		if (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' && b != '.' && b != '-' && b != '|' {
			return false
		}
	}
	return len(name) > 0 && len(name) < nameMax
}
