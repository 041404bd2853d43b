package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockbench/locks"
	"lockbench/service"
)

// usualPort is the default port of URLs.
const usualPort = "2181"

// noLogin is why users and passwords are not supported.
const noLogin = "a client of ZooKeeper logs in after it has opened a session, and the relay does not take part in that; " +
	"what can be used is a client certificate, zookeepers://HOST:PORT with --tls-cert FILE --tls-key FILE, and a root in which anybody may make nodes"

// Schemes returns the schemes without and with TLS.
func (Service) Schemes() []string { return []string{"zookeeper", "zookeepers"} }

// Locate reads
//
//	zookeeper://host:port,...    all members of an ensemble, or one server
//
// and zookeepers in the place of zookeeper for TLS.
func (Service) Locate(urls []string) (l service.Location, err error) {
	u, err := service.OneGroup(urls, usualPort)
	if err != nil {
		return l, err
	}
	l = service.Location{Addrs: u.Addrs, User: u.User, TLS: u.Scheme == "zookeepers", NoLogin: noLogin}
	switch {
	case u.Scheme != "zookeeper" && u.Scheme != "zookeepers":
		return l, fmt.Errorf("%s: servers are named as zookeeper://HOST:PORT or zookeepers://HOST:PORT, with commas between hosts", urls[0])
	case u.Path != "":
		return l, fmt.Errorf("the path /%s means nothing here: locks make their nodes below the root, with names of lockbench's own", u.Path)
	}
	l.Topology, _ = service.Find(Service{}, locks.Single)
	if len(l.Addrs) > 1 {
		l.Topology, _ = service.Find(Service{}, Quorum)
		l.Topology = l.Topology.Sized(len(l.Addrs))
	}
	return l, nil
}

// Login only does TLS.
func (Service) Login(ctx context.Context, c net.Conn, how service.Access) (net.Conn, error) {
	return how.Secure(ctx, c)
}

// Survey asks each server for its mode, and one server for the configuration of the ensemble. ZooKeeper
// keeps it in a node of its own. It does not contain the addresses for clients.
func (Service) Survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	site := l.Site()
	leading := ""
	for _, addr := range l.Addrs {
		var said string
		err := dial.Ask(ctx, addr, func(_ context.Context, c net.Conn) (err error) {
			said, err = say(c, "srvr")
			return err
		})
		if err != nil {
			return site, err
		}
		if denied(said) {
			return site, fmt.Errorf("%s does not say what it is, for its 4lw.commands.whitelist lacks srvr, which is there by default", addr)
		}
		s, err := readStatus(said)
		switch {
		case err != nil:
			return site, fmt.Errorf("%s: %w", addr, err)
		case s.mode == standalone && len(l.Addrs) > 1:
			return site, fmt.Errorf("%s is a server by itself, and no member of an ensemble: a run is on one of these", addr)
		case s.mode == leader && leading != "":
			return site, fmt.Errorf("%s and %s both lead, so they are one server that is named twice, or of two ensembles", leading, addr)
		case s.mode == leader:
			leading = addr
		case s.mode != standalone && s.mode != follower:
			return site, fmt.Errorf("%s is %s: name those alone that vote", addr, s.mode)
		}
		site.About = strings.TrimSpace(Name + " " + s.version)
	}
	var config []byte
	err := dial.Ask(ctx, l.Addrs[0], func(ctx context.Context, c net.Conn) error {
		return inSession(ctx, c, func(conn *zk.Conn) (err error) {
			config, _, err = conn.Get("/zookeeper/config")
			return err
		})
	})
	if err != nil {
		return site, fmt.Errorf("/zookeeper/config: %w", err)
	}
	if voting := voters(config); len(voting) > 0 && len(voting) != len(l.Addrs) {
		return site, fmt.Errorf("the ensemble has %d members that vote, and --servers names %d: name all, by where clients reach them (%s)",
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

// external are external servers, which have fewer abilities.
type external struct {
	service.Servers
	own    *servers
	prefix string
}

func (s Service) OpenExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := s.Open(site.Topology, h).(*servers)
	f := external{g, g, prefix}
	return service.ExternalServers{Servers: f, Under: f.Under, Clear: f.Clear, ByHand: f.ByHand}
}

// Abilities returns none: lockbench orders external servers nothing.
func (external) Abilities() service.Abilities { return service.Abilities{} }

// onLeader runs do in a session with the leader, after the leader has caught up.
func (f external) onLeader(ctx context.Context, do func(node string, conn *zk.Conn) error) error {
	node, err := f.own.Leader(ctx)
	if err != nil {
		return err
	}
	c, err := f.own.Host.Dial(ctx, node)
	if err == nil {
		err = inSession(ctx, c, func(conn *zk.Conn) error {
			if _, err := conn.Sync("/"); err != nil {
				return err
			}
			return do(node, conn)
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", node, err)
	}
	return nil
}

// Under searches all nodes except ZooKeeper's own, and not below nodes whose names match. It does not
// see nodes that their ACL hides.
func (f external) Under(ctx context.Context, word string, most int) (map[string][]string, error) {
	var leader string
	var found []string
	err := f.onLeader(ctx, func(node string, conn *zk.Conn) error {
		leader = node
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

// clearAtOnce is how many nodes are looked up before they are removed.
const clearAtOnce = 1000

// Clear removes nodes with the prefix in their names, and all that is below them.
func (f external) Clear(ctx context.Context) (n int, err error) {
	for {
		under, err := f.Under(ctx, f.prefix, clearAtOnce)
		if err != nil || len(under) == 0 {
			return n, err
		}
		err = f.onLeader(ctx, func(_ string, conn *zk.Conn) error {
			for _, paths := range under {
				for _, path := range paths {
					removed, err := remove(conn, path)
					if n += removed; err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return n, err
		}
	}
}

func (external) ByHand(word string) string {
	return fmt.Sprintf("zkCli.sh -server HOST:PORT deleteall PATH, for each node with %q in its name (zkCli.sh -server HOST:PORT ls -R / lists them)", word)
}
