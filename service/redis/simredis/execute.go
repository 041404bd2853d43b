package simredis

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// This file is how a node executes a command: miniredis does, between what happens
// before (is it covered, may it write) and after (what it wrote goes to the replicas).
//
//	connection ─▶ hook ─▶ run ─▶ miniredis ─▶ hook (once more, lets it pass)
//	                       │         └─ script ─▶ hook ─▶ called
//	                       └─ replicate, before the reply leaves

// hook sees every command before the server does: those of connections, and those
// that scripts call, for which the server's own lock is held and nothing of the
// server may be asked.
func (n *node) hook(p *server.Peer, name string, args ...string) (done bool) {
	s := n.session(p)
	switch {
	case s == nil:
		return n.called(p, name, args)
	case s.inside:
		return false
	}
	if heard := n.cluster.heard; heard != nil {
		heard(name, args)
	}
	if covered[name].blocks {
		return n.wait(p, s, name, args)
	}
	n.exec.Lock()
	defer n.exec.Unlock()
	return n.run(p, s, name, args)
}

// session finds what is known of a connection; nil for what a script calls. The
// peer of a connection comes without a context of miniredis's own at first, that of
// a script never.
func (n *node) session(p *server.Peer) *session {
	if s, ok := n.peers.Load(p); ok {
		return s.(*session)
	}
	if p.Ctx != nil {
		return nil
	}
	s := &session{}
	n.peers.Store(p, s)
	p.OnDisconnect(func() { n.peers.Delete(p) })
	return s
}

// called is a command that a script calls: the script's own goroutine holds exec.
func (n *node) called(p *server.Peer, name string, args []string) (done bool) {
	known, ok := covered[name]
	if !ok || !coveredOptions(name, args) {
		return n.refuse(p, name, args)
	}
	if name == "TTL" {
		return n.refuse(p, "TTL in a script", args) // it would round otherwise
	}
	if text, refused := refusedBefore(name, args); refused {
		p.WriteError(text)
		return true
	}
	if !known.write {
		return false
	}
	if n.readonly.Load() {
		p.WriteError(readonlyText)
		return true
	}
	n.dirty = append(n.dirty, known.keys(args)...)
	return false
}

const readonlyText = "READONLY You can't write against a read only replica."

// run executes a command of a connection and copies what it has written to the
// replicas before its reply leaves. Needs exec.
func (n *node) run(p *server.Peer, s *session, name string, args []string) (done bool) {
	m := n.redis.Load()
	if m == nil {
		p.Close()
		return true
	}
	known, ok := covered[name]
	if !ok || !coveredOptions(name, args) {
		return n.refuse(p, name, args)
	}
	if n.cluster.unknownScript(name, args) {
		n.cluster.host.Fault("%s was sent a script that was never compared with a real server: %.120q; "+
			"have it tried in service/redis/simredis/testdata/conformance.txt, then run go test ./service/redis/simredis -run Conformance -args -update", n.Name, args)
		p.WriteError("ERR the simulation does not know this script")
		return true
	}
	if n.answer(m, p, s, name, args) {
		return true
	}
	if known.write && n.readonly.Load() {
		p.WriteError(readonlyText)
		return true
	}
	if known.write && !n.enoughReplicas() {
		p.WriteError("NOREPLICAS Not enough good replicas to write.")
		return true
	}
	n.setClock(m)
	n.dirty = n.dirty[:0]
	if name == "FLUSHALL" && !s.multi {
		n.dirty = append(n.dirty, m.DB(0).Keys()...)
	}
	if s.multi || name != "EVALSHA" || !n.short(m, p, args) {
		n.learn(name, args)
		n.dispatch(m, p, s, name, args)
	}
	switch {
	case name == "MULTI":
		s.multi, s.queued = true, nil
	case name == "EXEC":
		n.dirty = append(n.dirty, s.queued...)
		s.multi, s.queued = false, nil
	case name == "DISCARD":
		s.multi, s.queued = false, nil
	case s.multi && known.write:
		s.queued = append(s.queued, known.keys(args)...)
	case known.write:
		n.dirty = append(n.dirty, known.keys(args)...)
	}
	switch {
	case len(n.dirty) > 0:
		s.wrote = n.replicate(dump(m, n.dirty, n.clock.Now()), nil)
	case name == "PUBLISH" && len(args) == 2:
		n.replicate(nil, args)
	}
	return true
}

// dispatch lets the server run a command.
func (n *node) dispatch(m *miniredis.Miniredis, p *server.Peer, s *session, name string, args []string) {
	command := append([]string{name}, args...)
	if name != "EVAL" && name != "EVALSHA" || s.multi {
		s.inside = true
		m.Server().Dispatch(p, command)
		s.inside = false
		return
	}
	// What a script's error looks like is put right on the way: libraries look at its
	// first word.
	var said bytes.Buffer
	buffered := bufio.NewWriter(&said)
	aside := server.NewPeer(buffered)
	aside.Ctx, aside.Resp3 = p.Ctx, p.Resp3
	n.peers.Store(aside, &session{inside: true})
	m.Server().Dispatch(aside, command)
	n.peers.Delete(aside)
	p.Ctx = aside.Ctx
	_ = buffered.Flush() // into memory
	failed := scriptFailed.FindStringSubmatch(said.String())
	if failed == nil {
		p.WriteRaw(said.String())
		return
	}
	if name == "EVAL" {
		// A script that was read and then failed is known from then on.
		discard := server.NewPeer(bufio.NewWriter(io.Discard))
		n.peers.Store(discard, &session{inside: true})
		m.Server().Dispatch(discard, []string{"SCRIPT", "LOAD", args[0]})
		n.peers.Delete(discard)
	}
	p.WriteRaw(scriptError(failed[1], failed[2], name, args))
}

var (
	scriptFailed = regexp.MustCompile(`^-ERR Error compiling script \(new function\): :(\d+): (.*?) stack traceback`)
	errorCode    = regexp.MustCompile(`^[A-Z]+ `)
)

// scriptError words the failure of a script, or of a command in it, as a real server does.
func scriptError(line, text, name string, args []string) string {
	sha := args[0]
	if name == "EVAL" {
		sha = digest(args[0])
	}
	if !errorCode.MatchString(text) {
		text = fmt.Sprintf("ERR user_script:%s: %s", line, text)
	}
	return fmt.Sprintf("-%s script: %s, on @user_script:%s.\r\n", text, sha, line)
}

// answer answers what miniredis does not know, or says otherwise than a real server.
func (n *node) answer(m *miniredis.Miniredis, p *server.Peer, s *session, name string, args []string) bool {
	if text, refused := refusedBefore(name, args); refused {
		p.WriteError(text)
		return true
	}
	switch {
	case name == "TTL" && len(args) == 1 && !s.multi:
		// A real server rounds to the nearest second.
		ttl := m.DB(0).TTL(args[0])
		switch {
		case !m.DB(0).Exists(args[0]):
			p.WriteInt(-2)
		case ttl <= 0:
			p.WriteInt(-1)
		default:
			p.WriteInt(int((ttl + time.Second/2) / time.Second))
		}
		return true
	case name == "ROLE":
		n.role(p)
		return true
	case name == "INFO" && !s.multi:
		p.WriteBulk(n.info())
		return true
	}
	return false
}

// role answers what the node is.
func (n *node) role(p *server.Peer) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.following == "" {
		p.WriteRaw(fmt.Sprintf("*3\r\n$6\r\nmaster\r\n:%d\r\n*%d\r\n", n.offset, len(n.replicas)))
		for _, r := range c.data {
			if at, ok := n.replicas[r.Name]; ok {
				host, port, _ := strings.Cut(r.addr, ":")
				p.WriteRaw(bulks(host, port, fmt.Sprint(at.acked)))
			}
		}
		return
	}
	state := "connect"
	if n.online {
		state = "connected"
	}
	master, _ := c.node(n.following)
	host, port, _ := strings.Cut(master.addr, ":")
	p.WriteRaw(fmt.Sprintf("*5\r\n$5\r\nslave\r\n$%d\r\n%s\r\n:%s\r\n$%d\r\n%s\r\n:%d\r\n", len(host), host, port, len(state), state, n.offset))
}

// info is what INFO says of replication, as far as anybody reads it.
func (n *node) info() string {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	role := "master"
	if n.following != "" {
		role = "slave"
	}
	return fmt.Sprintf("# Replication\r\nrole:%s\r\nconnected_slaves:%d\r\n", role, len(n.replicas))
}

// refuse says no to what is not covered, loudly: see [covered].
func (n *node) refuse(p *server.Peer, name string, args []string) bool {
	shown := args
	if len(shown) > 4 {
		shown = shown[:4]
	}
	what := strings.TrimSpace(name + " " + strings.Join(shown, " "))
	n.cluster.host.Fault("%s was asked for what the simulated server is not known to do as a real one does: %.120q; "+
		"add it to the conformance file and to the covered commands", n.Name, what)
	p.WriteError(fmt.Sprintf("ERR the simulation does not cover the command %s", name))
	return true
}
