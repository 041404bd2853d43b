package simredis

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/virtual/sim"
)

// audience is the clients of a sentinel. cluster.mu guards it, and callers of its methods must hold it.
type audience struct {
	sentinel   *sentinel
	subscribed []sim.Line
	callers    map[sim.Line]*caller
	dialled    int // the number of callers so far
}

// Asked handles a command of a client.
func (s *sentinel) Asked(l sim.Line, written []byte) {
	commands, _ := parseCommands(written)
	for _, words := range commands {
		s.cluster.mu.Lock()
		reply := s.audience.reply(l, words)
		s.cluster.mu.Unlock()
		l.Send([]byte(reply))
	}
}

// Left is called at the end of a connection.
func (s *sentinel) Left(l sim.Line) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	s.audience.unsubscribe(l)
	delete(s.audience.callers, l)
}

// caller returns the caller of a connection.
func (a *audience) caller(l sim.Line) *caller {
	c := a.callers[l]
	if c == nil {
		a.dialled++
		c = &caller{id: a.dialled}
		a.callers[l] = c
	}
	return c
}

// reply answers one command.
func (a *audience) reply(l sim.Line, words []string) string {
	c := a.caller(l)
	if text, wrong := sentinelTable().misused(words, false); wrong {
		return proto.Error(text)
	}
	if isGreeting(words) {
		if reply, known := c.greet(standing{mode: "sentinel"}, words); known {
			return reply
		}
		return a.refuse(words)
	}
	switch name := strings.ToUpper(words[0]); {
	case name == "SENTINEL":
		return a.asked(c, words)
	case name == "SUBSCRIBE":
		if !slices.Contains(a.subscribed, l) {
			a.subscribed = append(a.subscribed, l)
		}
		var b strings.Builder
		for i, channel := range words[1:] {
			b.WriteString(c.pushed(proto.String("subscribe"), proto.String(channel), proto.Int(i+1)))
		}
		return b.String()
	case name == "UNSUBSCRIBE":
		a.unsubscribe(l)
		return c.pushed(proto.String("unsubscribe"), c.null(), proto.Int(0))
	case name == "PING" && len(words) > 2:
		return proto.Error("ERR wrong number of arguments for 'ping' command")
	case name == "PING" && !c.resp3 && slices.Contains(a.subscribed, l):
		return proto.Strings("pong", strings.Join(words[1:], " "))
	case name == "PING" && len(words) == 2:
		return proto.String(words[1])
	case name == "PING":
		return proto.Inline("PONG")
	case name == "ROLE":
		return proto.Array(proto.String("sentinel"), proto.Strings(masterName))
	case name == "COMMAND" && len(words) == 1:
		return listing(sentinelText, c.resp3)
	}
	return a.refuse(words)
}

// asked answers SENTINEL, with which libraries find the master.
func (a *audience) asked(c *caller, words []string) string {
	of := func() bool { return words[2] == masterName }
	switch strings.ToUpper(words[1]) {
	case "GET-MASTER-ADDR-BY-NAME":
		if !of() {
			return c.nullList()
		}
		host, port := a.address(a.sentinel.master)
		return proto.Strings(host, port)
	case "SENTINELS":
		if !of() {
			return proto.Error(noSuchMaster)
		}
		return a.others(c)
	case "REPLICAS", "SLAVES":
		if !of() {
			return proto.Error(noSuchMaster)
		}
		return a.replicas(c)
	}
	return a.refuse(words)
}

const noSuchMaster = "ERR No such master with that name"

// refuse refuses a command that the simulation does not execute like a real sentinel.
func (a *audience) refuse(words []string) string {
	a.sentinel.cluster.refused(a.sentinel.Name, strings.Join(words[:min(len(words), 5)], " "))
	return proto.Error("ERR the simulation does not cover the command " + strings.ToUpper(words[0]))
}

// AtOnce answers greetings and queries without delay while the sentinel is reachable. Libraries hold a mutex while they wait
// for the answers.
func (s *sentinel) AtOnce(l sim.Line, written []byte) (reply []byte, done bool) {
	asked, whole := parseCommands(written)
	for _, words := range asked {
		whole = whole && (isGreeting(words) || strings.EqualFold(words[0], "sentinel"))
	}
	if !whole {
		return nil, false
	}
	if !l.Reachable() {
		return nil, true
	}
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	for _, words := range asked {
		reply = append(reply, s.audience.reply(l, words)...)
	}
	return reply, true
}

// announce sends a message to subscribed clients.
func (a *audience) announce(from, to string) {
	oldHost, oldPort := a.address(from)
	newHost, newPort := a.address(to)
	text := strings.Join([]string{masterName, oldHost, oldPort, newHost, newPort}, " ")
	for _, l := range a.subscribed {
		l.Send([]byte(a.caller(l).pushed(proto.String("message"), proto.String("+switch-master"), proto.String(text))))
	}
}

func (a *audience) unsubscribe(l sim.Line) {
	a.subscribed = slices.DeleteFunc(a.subscribed, func(other sim.Line) bool { return other == l })
}

func (a *audience) address(name string) (host, port string) {
	// The name is that of a node of this cluster.
	host, port, _ = strings.Cut(a.sentinel.cluster.node(name).addr, ":")
	return host, port
}

// others returns the other sentinels in the form of SENTINEL SENTINELS.
func (a *audience) others(c *caller) string {
	var lists []string
	for _, n := range a.sentinel.cluster.sentinels {
		if n != a.sentinel {
			host, port, _ := strings.Cut(n.addr, ":")
			lists = append(lists, c.fields("name", n.Name, "ip", host, "port", port, "flags", "sentinel"))
		}
	}
	return proto.Array(lists...)
}

// replicas returns the replicas in the form of SENTINEL REPLICAS.
func (a *audience) replicas(c *caller) string {
	var lists []string
	for _, n := range a.sentinel.cluster.data {
		if n.Name == a.sentinel.master {
			continue
		}
		seen := a.sentinel.seen[n.Name]
		host, port, _ := strings.Cut(n.addr, ":")
		link := "err"
		if seen.online && seen.following == a.sentinel.master {
			link = "ok"
		}
		flags := "slave"
		if a.sentinel.isDown(n.Name, time.Now()) {
			flags = "s_down,slave,disconnected"
		}
		lists = append(lists, c.fields("name", n.addr, "ip", host, "port", port, "flags", flags,
			"master-link-status", link, "slave-priority", strconv.Itoa(seen.priority)))
	}
	return proto.Array(lists...)
}
