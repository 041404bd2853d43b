package simredis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
)

// This file finds out which keys a command reads and changes, for the [readers] of a process with a caching connection.

// runTracked is run for these processes. The caller must hold exec.
func (c *call) runTracked() {
	if _, resp3 := c.session.caller.tracks(); c.peer.Resp3 != resp3 {
		c.peer.Resp3 = resp3 // a greeting that was answered at once has set it
	}
	commands := [][]string{c.words()}
	switch {
	case c.name == "EXEC":
		commands = c.session.commands
	case c.session.multi:
		c.run()
		return
	}
	for _, command := range commands {
		if c.name == "EXEC" && covered()[command[0]].unordered {
			c.process.refuse(c.peer, command[0]+" in a transaction where connections cache", command[1:])
			return
		}
	}
	c.readers.asking = c.session
	c.keys.setClock()
	existed := map[string]bool{}
	for _, command := range commands {
		keys := keysOf(command)
		c.readers.expired(keys)
		for _, key := range keys {
			existed[key] = c.keys.db().Exists(key)
		}
	}
	if covered()[c.name].write || c.name == "EXEC" {
		c.runAndRead(commands, existed)
	} else {
		if isScript(c.name) {
			c.readers.declared = keysOf(commands[0])
		}
		c.run()
		c.readers.declared = nil
		c.observe(c.session, commands[0], "", existed)
	}
	c.readers.push()
	c.readers.asking = nil
}

// runAndRead runs a command that writes, or a transaction, and learns from its answer what has changed.
func (c *call) runAndRead(commands [][]string, existed map[string]bool) {
	said := c.captured(c.peer, func(aside *server.Peer) {
		inner := *c
		inner.peer = aside
		inner.run()
	})
	c.peer.WriteRaw(said)
	answers := []string{said}
	if c.name == "EXEC" {
		answers, _ = proto.ReadArray(said) // nil if the transaction failed
	}
	for i := range min(len(answers), len(commands)) {
		c.observe(c.session, commands[i], answers[i], existed)
	}
}

// calledTracked executes a command that a script calls. It executes writes itself to see their changes.
func (p *process) calledTracked(peer *server.Peer, name string, args []string) (done bool) {
	command := append([]string{name}, args...)
	if !covered()[name].write {
		if reads(command) {
			p.readers.remember(p.readers.asking, p.readers.declared)
		}
		return false
	}
	existed := map[string]bool{}
	for _, key := range keysOf(command) {
		existed[key] = p.aside(peer, "EXISTS", key) == proto.Int(1)
	}
	said := p.aside(peer, command...)
	peer.WriteRaw(said)
	p.observe(p.readers.asking, command, said, existed)
	return true
}

// observe records the reads and writes of a command. existed has the keys that existed before, and observe updates it. The
// caller must hold exec.
func (p *process) observe(s *session, command []string, said string, existed map[string]bool) {
	known := covered()[command[0]]
	switch {
	case reads(command):
		p.readers.remember(s, keysOf(command))
	case !known.write:
	case command[0] == "FLUSHALL":
		p.readers.flushed()
		clear(existed)
	default:
		for _, key := range known.modified(command[1:], said, existed) {
			p.readers.invalidate(key)
			existed[key] = !known.deletes
		}
	}
}

func isScript(name string) bool { return name == "EVAL" || name == "EVALSHA" }

// keysOf returns the keys of a command.
func keysOf(command []string) []string {
	name, args := command[0], command[1:]
	if !isScript(name) {
		return covered()[name].keys(args)
	}
	if len(args) < 2 {
		return nil
	}
	count, _ := strconv.Atoi(args[1]) // a number, because the command was checked
	return args[2:min(2+max(count, 0), len(args))]
}

// reads reports whether a server considers a command a read.
func reads(command []string) bool {
	e := serverTable().find(command)
	return e != nil && e.is("readonly")
}

// written is a write that a server has answered.
type written struct {
	args, keys []string
	nothing    bool // the answer is 0, null or empty
	existed    map[string]bool
}

// modified returns the keys that a command has changed according to its answer, in the order in which a server reports
// them.
func (c command) modified(args []string, said string, existed map[string]bool) []string {
	nothing := slices.Contains([]string{proto.Int(0), proto.Nil, proto.NilResp3, proto.NilList, proto.Array()}, said)
	w := written{args: args, keys: c.keys(args), nothing: nothing, existed: existed}
	switch {
	case strings.HasPrefix(said, "-"):
		return nil
	case c.changed != nil:
		return c.changed(w)
	case nothing:
		return nil
	}
	return w.keys
}

// allKeys: the command changes its key unless it fails, whatever it answers.
func allKeys(w written) []string { return w.keys }

// existing: the command changes the keys that existed.
func existing(w written) []string {
	return slices.DeleteFunc(w.keys, func(key string) bool { return !w.existed[key] })
}

// renamed returns the keys of RENAME.
func renamed(w written) []string {
	if w.args[0] == w.args[1] {
		return nil
	}
	return w.keys
}

// moved returns the keys of RPOPLPUSH.
func moved(w written) []string {
	if w.nothing {
		return nil
	}
	return []string{w.args[1], w.args[0]}
}

// setKey returns the key of SET if it was set. With GET, the answer is the previous value.
func setKey(w written) []string {
	has := func(option string) bool {
		return slices.ContainsFunc(w.args[2:], func(arg string) bool { return strings.EqualFold(arg, option) })
	}
	set := !w.nothing
	if has("GET") {
		set = !(has("NX") && !w.nothing || has("XX") && w.nothing)
	}
	if !set {
		return nil
	}
	return w.args[:1]
}
