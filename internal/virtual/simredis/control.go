package simredis

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/service"
	"lockbench/internal/virtual/sim"
)

// This file lets the code that controls real servers (lockbench/internal/service/redis) control the simulated servers. Its
// commands bypass the network and take no time.

// control is the host of that code.
type control struct {
	service.Host // nil; the other methods are not called
	*cluster
}

// Addr returns the address of a node.
func (c control) Addr(node string) netip.AddrPort {
	s, err := c.seat(node)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.MustParseAddrPort(s.addr)
}

// Status returns the state of the process of a node.
func (c control) Status(node string) service.Status {
	s, err := c.seat(node)
	if err != nil {
		return service.Status{Why: err}
	}
	return service.Status{Running: s.alive(), Paused: s.alive() && !s.running()}
}

// Follow does nothing: a node that starts follows the node at the address that follows the master.
func (control) Follow(string, netip.AddrPort) error { return nil }

// Lead moves the address that follows the master, which ends its connections.
func (c control) Lead(node string) error {
	master := c.node(node)
	c.mu.Lock()
	c.service = master
	c.host.Move(c.address, master.index)
	c.mu.Unlock()
	for _, n := range c.data {
		if n != master {
			c.host.HangUp(n.index)
		}
	}
	return nil
}

// ask executes a command of the control code and returns the answer in RESP.
func (c *cluster) ask(node string, command []string) (string, error) {
	s, err := c.seat(node)
	switch {
	case err != nil:
		return "", err
	case !s.alive():
		return "", errors.New("it is down")
	case !s.running():
		return "", errors.New("it is paused")
	}
	switch command[0] {
	case "PING":
		return proto.Inline("PONG"), nil
	case "TIME":
		now := s.clock.Now()
		return proto.Strings(fmt.Sprint(now.Unix()), fmt.Sprint(now.Nanosecond()/1000)), nil
	case "DEBUG": // SLEEP
		d, err := time.ParseDuration(command[2] + "s")
		c.host.Stall(s.index, d)
		return okay, err
	case "CLIENT": // KILL TYPE pubsub
		c.host.HangUp(s.index, sim.Subscription)
		return okay, nil
	}
	if w, ok := c.servers[s.index].(*sentinel); ok {
		return w.ordered(command), nil
	}
	return c.node(node).ordered(command)
}

// ordered executes a command of the control code.
func (n *node) ordered(command []string) (said string, err error) {
	if !n.during(func(p *process) { said, err = n.order(p, command) }) {
		return "", errors.New("it is down")
	}
	return said, err
}

// order executes a command of the control code between two commands.
func (n *node) order(p *process, command []string) (string, error) {
	switch strings.Join(command[:len(command)-1], " ") {
	case "INFO": // all sections together
		said := n.role.info()
		n.cluster.mu.Lock()
		defer n.cluster.mu.Unlock()
		return proto.String(fmt.Sprintf("%smaster_repl_offset:%d\r\nslave_repl_offset:%[2]d\r\ndb0:keys=%d,expires=%d\r\n",
			said, n.role.offset, len(p.keys.db().Keys()), len(p.keys.expiring()))), nil
	case "REPLICAOF NO":
		n.role.promote()
		return okay, nil
	case "CONFIG SET replica-priority":
		n.cluster.mu.Lock()
		defer n.cluster.mu.Unlock()
		var err error
		n.role.priority, err = strconv.Atoi(command[3])
		return okay, err
	case "CONFIG SET maxmemory":
		gone := p.keys.expiring()
		if command[3] == "0" || len(gone) == 0 {
			return okay, nil
		}
		command = append([]string{"DEL"}, gone...)
	}
	switch command[0] {
	case "CONFIG": // other settings, and REWRITE
		return okay, nil
	case "REPLICAOF":
		for _, other := range n.cluster.data {
			if other.addr == strings.Join(command[1:], ":") {
				n.role.follow(other.Name)
			}
		}
		return okay, nil
	}
	return p.control(command), nil
}

// ordered executes a command of the control code.
func (s *sentinel) ordered(command []string) string {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	switch command[1] {
	case "MASTER":
		flags := "master"
		if s.attempt != nil {
			flags += ",failover_in_progress"
		}
		if s.isDown(s.master, time.Now()) {
			flags = "s_down," + flags
		}
		return proto.Strings("name", masterName, "flags", flags)
	case "FAILOVER":
		if s.attempt != nil {
			return proto.Error("INPROG Failover already in progress")
		}
		s.begins(&attempt{forced: true}, time.Now())
		return okay
	}
	return s.audience.asked(&caller{}, command)
}
