package simredis

import (
	"bufio"
	"bytes"
	"io"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// process is the process of a data node, from its start to its end, with what a server has in memory.
type process struct {
	node    *node
	keys    keyspace
	readers *readers

	// exec is held during a command and its effects. Commands that wait for other clients run without it.
	exec    sync.Mutex
	dirty   []string // keys that the running command has written
	scripts scripts
}

// newProcess returns a process without data.
func newProcess(n *node) *process {
	p := &process{node: n, keys: newKeyspace(&n.clock), scripts: scripts{}}
	p.readers = newReaders(p)
	p.keys.redis.Server().SetPreHook(p.hook)
	return p
}

// hook gets every command before the server executes it: commands of connections, and commands that scripts call. For the
// latter, the server's own lock is held, so hook must not call the server.
func (p *process) hook(peer *server.Peer, name string, args ...string) (done bool) {
	s := p.node.connections.session(peer)
	switch {
	case s == nil && peer.Ctx == nil: // the first command comes without miniredis's context
		p.node.connections.introduce(peer, args)
		return true
	case s == nil:
		return p.called(peer, name, args)
	case s.inside:
		return false
	}
	if heard := p.node.cluster.heard; heard != nil {
		heard(name, args)
	}
	defer func() {
		if name != "CLIENT" && !s.multi {
			s.caller.commandDone()
		}
	}()
	c := &call{process: p, peer: peer, session: s, name: name, args: args}
	if c.misused() {
		return true
	}
	if covered()[name].blocks && !s.multi {
		return c.wait()
	}
	p.exec.Lock()
	defer p.exec.Unlock()
	switch {
	case p.node.process.Load() != p:
		peer.Close()
	case p.readers.used.Load():
		c.runTracked()
	default:
		c.run()
	}
	return true
}

// called executes a command that a script calls. The goroutine of the script holds exec.
func (p *process) called(peer *server.Peer, name string, args []string) (done bool) {
	if text := serverTable().misusedInScript(append([]string{name}, args...)); text != "" {
		peer.WriteError(text)
		return true
	}
	known, text, ok := checked(name, args)
	switch {
	case !ok:
		p.refuse(peer, name, args)
		return true
	case name == "TTL":
		p.refuse(peer, "TTL in a script", args) // it would round in another way
		return true
	case text == "" && known.write && p.node.role.readonly.Load():
		text = readonlyText
	}
	if text != "" {
		peer.WriteError(text)
		return true
	}
	if known.write {
		p.dirty = append(p.dirty, known.keys(args)...)
	}
	if p.readers.asking != nil {
		return p.calledTracked(peer, name, args)
	}
	return false
}

// aside lets miniredis execute a command for a peer and returns the answer.
func (p *process) aside(peer *server.Peer, command ...string) string {
	return p.captured(peer, func(aside *server.Peer) { p.keys.redis.Server().Dispatch(aside, command) })
}

// captured calls a function with a stand-in for a peer and returns the output.
func (p *process) captured(peer *server.Peer, say func(aside *server.Peer)) string {
	var said bytes.Buffer
	buffered := bufio.NewWriter(&said)
	aside := server.NewPeer(buffered)
	aside.Ctx, aside.Resp3 = peer.Ctx, peer.Resp3
	p.node.connections.peers.Store(aside, &session{inside: true})
	say(aside)
	p.node.connections.peers.Delete(aside)
	peer.Ctx = aside.Ctx
	_ = buffered.Flush() // into memory
	return said.String()
}

// control executes a command of the control code. The caller must hold exec.
func (p *process) control(command []string) string {
	p.dirty = nil
	c := &call{process: p, peer: server.NewPeer(bufio.NewWriter(io.Discard)),
		session: &session{caller: &caller{}, control: true}, name: command[0], args: command[1:]}
	said := c.captured(c.peer, func(aside *server.Peer) {
		c.peer = aside
		c.run()
	})
	if c.name == "FLUSHALL" {
		p.readers.flushed()
	}
	for _, key := range p.dirty {
		p.readers.invalidate(key)
	}
	p.readers.push()
	return said
}

// copied installs keys from the master: all of them, or those that have changed.
func (p *process) copied(all bool, entries []entry) {
	p.node.disk.flush(p.keys)
	if all {
		p.keys.db().FlushDB()
	}
	p.keys.load(entries)
	p.node.disk.wrote(p.keys)
	if all {
		p.readers.flushed()
	} else {
		for _, e := range entries {
			p.readers.invalidate(e.key)
		}
	}
	p.readers.push()
}
