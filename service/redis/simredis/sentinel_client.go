package simredis

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/world/sim"
)

// Asked is what a client says to a sentinel on a connection.
func (s *sentinel) Asked(l sim.Line, written []byte) {
	for _, command := range parseCommands(written) {
		s.cluster.mu.Lock()
		reply := s.reply(l, command)
		s.cluster.mu.Unlock()
		l.Send([]byte(reply))
	}
}

// Left is the end of the connection.
func (s *sentinel) Left(l sim.Line) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	s.unsubscribe(l)
}

// reply answers one command. Needs cluster.mu.
func (s *sentinel) reply(l sim.Line, command []string) string {
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
		if !slices.Contains(s.subscribed, l) {
			s.subscribed = append(s.subscribed, l)
		}
		var b strings.Builder
		for i, channel := range command[1:] {
			fmt.Fprintf(&b, "*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:%d\r\n", len(channel), channel, i+1)
		}
		return b.String()
	case words[0] == "UNSUBSCRIBE":
		s.unsubscribe(l)
		return "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n"
	case words[0] == "PING" && slices.Contains(s.subscribed, l):
		return bulks("pong", strings.Join(command[1:], " "))
	case words[0] == "PING":
		return "+PONG\r\n"
	case words[0] == "CLIENT":
		return "+OK\r\n"
	}
	return fmt.Sprintf("-ERR unknown command '%s'\r\n", command[0])
}

// AtOnce answers a client's greeting and its questions, as long as the sentinel can be
// reached: go-redis waits for the answers under a mutex.
func (s *sentinel) AtOnce(l sim.Line, written []byte) (reply []byte, done bool) {
	asked := parseCommands(written)
	if len(asked) != 1 || !strings.EqualFold(asked[0][0], "sentinel") && !strings.EqualFold(asked[0][0], "hello") {
		return nil, false
	}
	if !l.Reachable() {
		return nil, true
	}
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	return []byte(s.reply(l, asked[0])), true
}

// announce tells the clients that have subscribed. Needs cluster.mu.
func (s *sentinel) announce(from, to string) {
	oldHost, oldPort := s.address(from)
	newHost, newPort := s.address(to)
	text := bulks("message", "+switch-master", strings.Join([]string{masterName, oldHost, oldPort, newHost, newPort}, " "))
	for _, l := range s.subscribed {
		l.Send([]byte(text))
	}
}

func (s *sentinel) unsubscribe(l sim.Line) {
	s.subscribed = slices.DeleteFunc(s.subscribed, func(other sim.Line) bool { return other == l })
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
	for _, n := range s.cluster.sentinels {
		if n != s {
			host, port, _ := strings.Cut(n.addr, ":")
			lists = append(lists, bulks("name", n.Name, "ip", host, "port", port, "flags", "sentinel"))
		}
	}
	return fmt.Sprintf("*%d\r\n%s", len(lists), strings.Join(lists, ""))
}

// replicas lists the replicas as SENTINEL REPLICAS does.
func (s *sentinel) replicas() string {
	var lists []string
	for _, n := range s.cluster.data {
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
