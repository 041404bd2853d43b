package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockbench/internal/service"
)

// noLogin is why users and passwords are not supported.
const noLogin = "a client of ZooKeeper logs in after it has opened a session, and the proxy cannot log in for it; " +
	"use a client certificate, zookeepers://HOST:PORT with --tls-cert FILE --tls-key FILE, and a root in which all clients may create nodes"

// urls are such as zookeeper://host:port,... for all members of an ensemble, or one server.
var urls = service.URLForm{
	Plain: []string{"zookeeper"}, TLS: []string{"zookeepers"}, Port: "2181",
	Named:  "servers are named as zookeeper://HOST:PORT or zookeepers://HOST:PORT, with commas between hosts",
	NoPath: "locks make their nodes below the root, with names of lockbench's own",
	One:    topologies[0], Several: topologies[1],
	Location: service.Location{NoLogin: noLogin},
}

// survey asks each server for its mode, and one server for the configuration of the ensemble. ZooKeeper keeps it in
// a node of its own. It does not contain the addresses for clients.
func survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	leading := ""
	site, err := l.Survey(ctx, func(ctx context.Context, addr string) (is service.Identity, err error) {
		said := ""
		err = dial.Ask(ctx, addr, func(_ context.Context, c net.Conn) (err error) {
			said, err = say(c, "srvr")
			return err
		})
		if err != nil {
			return is, err
		}
		if denied(said) {
			return is, fmt.Errorf("%s does not report its state, because its 4lw.commands.whitelist lacks srvr, which is there by default", addr)
		}
		s, err := readStatus(said)
		switch {
		case err != nil:
			return is, fmt.Errorf("%s: %w", addr, err)
		case s.mode == standalone && len(l.Addrs) > 1:
			return is, fmt.Errorf("%s is a standalone server and not a member of an ensemble: name one server, or the members of one ensemble", addr)
		case s.mode == leader && leading != "":
			return is, fmt.Errorf("%s and %s both lead, so they are one server that is named twice, or of two ensembles", leading, addr)
		case s.mode == leader:
			leading = addr
		case s.mode != standalone && s.mode != follower:
			return is, fmt.Errorf("%s is %s: name only members that vote", addr, s.mode)
		}
		is.About = strings.TrimSpace(Name + " " + s.version)
		return is, nil
	})
	if err != nil {
		return site, err
	}
	var config []byte
	err = dial.Ask(ctx, l.Addrs[0], func(ctx context.Context, c net.Conn) error {
		return inSession(ctx, c, func(conn *zk.Conn) (err error) {
			config, _, err = conn.Get("/zookeeper/config")
			return err
		})
	})
	if err != nil {
		return site, fmt.Errorf("/zookeeper/config: %w", err)
	}
	if voting := voters(config); len(voting) > 0 && len(voting) != len(l.Addrs) {
		return site, fmt.Errorf("the ensemble has %d members that vote, and --servers names %d: name all of them, by the addresses that clients use (%s)",
			len(voting), len(l.Addrs), strings.Join(voting, ", "))
	}
	return site, nil
}

// voters returns the lines of a configuration that name members that vote.
func voters(config []byte) (voting []string) {
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "server.") && !strings.Contains(line, ":observer") {
			voting = append(voting, line)
		}
	}
	return voting
}

func openExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := newServers(site.Topology, h)
	e := service.ExternalServers{Servers: g, Under: g.under, ByHand: byHand}
	e.Clear = func(ctx context.Context) (int, error) { return e.ClearEach(ctx, prefix, g.remove) }
	return e
}

// inSession runs do in a session with a node, after the node has caught up.
func (g *servers) inSession(ctx context.Context, node string, do func(conn *zk.Conn) error) error {
	return g.Ask(ctx, node, sessionLimit, func(ctx context.Context, c net.Conn) error {
		return inSession(ctx, c, func(conn *zk.Conn) error {
			if _, err := conn.Sync("/"); err != nil {
				return err
			}
			return do(conn)
		})
	})
}

// under searches all nodes except ZooKeeper's own, and not below nodes whose names match. It does not
// see nodes that their ACL hides.
func (g *servers) under(ctx context.Context, word string, most int) (map[string][]string, error) {
	leader, err := g.Leader(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	err = g.inSession(ctx, leader, func(conn *zk.Conn) error {
		for look := []string{"/"}; len(look) > 0 && len(found) < most; look = look[1:] {
			names, _, err := conn.Children(look[0])
			if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
				continue
			}
			if err != nil {
				return fmt.Errorf("look into %s: %w", look[0], err)
			}
			for _, name := range names {
				path := strings.TrimSuffix(look[0], "/") + "/" + name
				switch {
				case strings.Contains(name, word):
					found = append(found, path)
				case path != "/zookeeper":
					look = append(look, path)
				}
			}
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return map[string][]string{leader: found[:min(len(found), most)]}, nil
}

// remove removes a node and all nodes below it.
func (g *servers) remove(ctx context.Context, leader, path string) (n int, err error) {
	err = g.inSession(ctx, leader, func(conn *zk.Conn) error {
		n, err = remove(conn, path)
		return err
	})
	return n, err
}

func byHand(word string) string {
	return fmt.Sprintf("zkCli.sh -server HOST:PORT deleteall PATH, for each node with %q in its name (zkCli.sh -server HOST:PORT ls -R / lists them)", word)
}
