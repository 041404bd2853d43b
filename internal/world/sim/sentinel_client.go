package sim

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/world"
)

// hear is what a client says to a sentinel on a connection.
func (s *sentinel) hear(p *pair, m parcel) {
	if m.fin {
		s.cluster.mu.Lock()
		s.unsubscribe(p)
		s.cluster.mu.Unlock()
		return
	}
	if !s.node.alive() {
		return
	}
	for _, command := range parseCommands(m.data) {
		s.cluster.mu.Lock()
		reply := s.reply(p, command)
		s.cluster.mu.Unlock()
		p.down.send(parcel{data: []byte(reply)})
	}
}

// reply answers one command. Needs cluster.mu.
func (s *sentinel) reply(p *pair, command []string) string {
	words := make([]string, 2)
	for i := range min(2, len(command)) {
		words[i] = strings.ToUpper(command[i])
	}
	switch {
	case words[0] == "SENTINEL" && len(command) == 3 && command[2] != masterName:
		return "-ERR No such master with that name\r\n"
	case words[0] == "SENTINEL" && words[1] == "GET-MASTER-ADDR-BY-NAME":
		host, port := s.address(s.master)
		return bulks(host, port)
	case words[0] == "SENTINEL" && words[1] == "SENTINELS":
		return s.others()
	case words[0] == "SENTINEL" && (words[1] == "REPLICAS" || words[1] == "SLAVES"):
		return s.replicas()
	case words[0] == "SUBSCRIBE":
		if !slices.Contains(s.subscribed, p) {
			s.subscribed = append(s.subscribed, p)
		}
		var b strings.Builder
		for i, channel := range command[1:] {
			fmt.Fprintf(&b, "*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:%d\r\n", len(channel), channel, i+1)
		}
		return b.String()
	case words[0] == "UNSUBSCRIBE":
		s.unsubscribe(p)
		return "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n"
	case words[0] == "PING" && slices.Contains(s.subscribed, p):
		return bulks("pong", strings.Join(command[1:], " "))
	case words[0] == "PING":
		return "+PONG\r\n"
	case words[0] == "CLIENT":
		return "+OK\r\n"
	}
	return fmt.Sprintf("-ERR unknown command '%s'\r\n", command[0])
}

// atOnce answers what a client must not wait for (see dial.go): its greeting and its
// questions, as long as the sentinel can be reached; a nil reply is that it cannot.
func (s *sentinel) atOnce(client string, p *pair, request []byte) (reply []byte, done bool) {
	c := s.cluster
	commands := parseCommands(request)
	c.count(client, commands)
	if len(commands) != 1 || !strings.EqualFold(commands[0][0], "sentinel") && !strings.EqualFold(commands[0][0], "hello") {
		return nil, false
	}
	if open, _ := c.net.open(client, s.node.Name); !open || !s.node.running() {
		return nil, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return []byte(s.reply(p, commands[0])), true
}

// announce tells the clients that have subscribed. Needs cluster.mu.
func (s *sentinel) announce(from, to string) {
	oldHost, oldPort := s.address(from)
	newHost, newPort := s.address(to)
	text := bulks("message", "+switch-master", strings.Join([]string{masterName, oldHost, oldPort, newHost, newPort}, " "))
	for _, p := range s.subscribed {
		p.down.send(parcel{data: []byte(text)})
	}
}

func (s *sentinel) unsubscribe(p *pair) {
	s.subscribed = slices.DeleteFunc(s.subscribed, func(other *pair) bool { return other == p })
}

func (s *sentinel) address(name string) (host, port string) {
	// Only names of this cluster's nodes get here.
	n, _ := s.cluster.node(name)
	host, port, _ = strings.Cut(n.addr, ":")
	return host, port
}

// others lists the other sentinels as SENTINEL SENTINELS does.
func (s *sentinel) others() string {
	var lists []string
	for _, n := range s.cluster.of(world.Watchman) {
		if n != s.node {
			host, port, _ := strings.Cut(n.addr, ":")
			lists = append(lists, bulks("name", n.Name, "ip", host, "port", port, "flags", "sentinel"))
		}
	}
	return fmt.Sprintf("*%d\r\n%s", len(lists), strings.Join(lists, ""))
}

// replicas lists the replicas as SENTINEL REPLICAS does.
func (s *sentinel) replicas() string {
	var lists []string
	for _, n := range s.cluster.of(world.Data) {
		if n.Name == s.master {
			continue
		}
		host, port, _ := strings.Cut(n.addr, ":")
		link := "err"
		if s.seen[n.Name].online {
			link = "ok"
		}
		lists = append(lists, bulks("name", n.addr, "ip", host, "port", port, "flags", "slave", "master-link-status", link))
	}
	return fmt.Sprintf("*%d\r\n%s", len(lists), strings.Join(lists, ""))
}
