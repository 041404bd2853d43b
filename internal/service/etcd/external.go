package etcd

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"lockbench/internal/service"
)

// noLogin is why users and passwords are not supported.
const noLogin = "etcd expects them inside its own protocol, in each request of each client, and the proxy does not parse that protocol; " +
	"use a client certificate, etcds://HOST:PORT with --tls-cert FILE --tls-key FILE, and an etcd without `auth enable`"

// urls are such as etcd://host:port,... for all members of one cluster, or one server.
var urls = service.URLForm{
	Plain: []string{"etcd"}, TLS: []string{"etcds"}, Port: "2379",
	Named:  "servers are named as etcd://HOST:PORT or etcds://HOST:PORT, with commas between hosts",
	NoPath: "keys of a run have a prefix of lockbench's own",
	One:    topologies[0], Several: topologies[1],
	// With TLS a client must offer HTTP/2 for gRPC, so lockbench uses HTTP/2 there as well.
	Location: service.Location{NoLogin: noLogin, ALPN: []string{"h2"}},
}

func survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	return l.Survey(ctx, func(ctx context.Context, addr string) (is service.Identity, err error) {
		ask := func(path string, answer any) error {
			return dial.Ask(ctx, addr, func(ctx context.Context, c net.Conn) error {
				return exchange(ctx, c, l.TLS, http.MethodPost, path, "{}", answer)
			})
		}
		var s status
		var list memberList
		err = ask(statusPath, &s)
		if err == nil {
			err = ask(memberListPath, &list)
		}
		switch {
		case err != nil:
			return is, err
		case s.Header.Member == "":
			return is, fmt.Errorf("%s answers, but is not an etcd", addr)
		case s.IsLearner:
			return is, fmt.Errorf("%s is a learner, which serves no clients: remove it from --servers", addr)
		}
		is = service.Identity{About: Name + " " + s.Version, ID: s.Header.Member, Group: s.Header.Cluster, Members: map[string]string{}}
		for _, m := range list.Members {
			if !m.Learner {
				is.Members[m.ID] = fmt.Sprintf("%s (%s)", m.Name, strings.Join(m.Clients, ", "))
			}
		}
		return is, nil
	})
}

func openExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := newServers(site.Topology, h, site.TLS)
	return service.ExternalServers{
		Servers: g, Under: g.under, ByHand: byHand,
		Clear: func(ctx context.Context) (int, error) { return g.clear(ctx, prefix) },
	}
}

// onLeader posts a request about all keys that begin with a text.
func (g *servers) onLeader(ctx context.Context, path, text string, question map[string]any, answer any) (leader string, err error) {
	if leader, err = g.Leader(ctx); err != nil {
		return "", err
	}
	end := []byte(text)
	end[len(end)-1]++ // it ends with a colon
	question["key"], question["range_end"] = []byte(text), end
	err = g.ask(ctx, leader, path, question, answer)
	if err != nil && (strings.Contains(err.Error(), "user name is empty") || strings.Contains(err.Error(), "permission denied")) {
		err = fmt.Errorf("%w: this etcd requires a user (`auth enable`), which lockbench does not support: %s", err, noLogin)
	}
	return leader, err
}

// under searches keys that begin with a text. Locks on etcd begin all keys with their names.
func (g *servers) under(ctx context.Context, text string, most int) (map[string][]string, error) {
	var answer struct {
		Kvs []struct{ Key string } `json:"kvs"`
	}
	leader, err := g.onLeader(ctx, "/v3/kv/range", text, map[string]any{"limit": strconv.Itoa(most), "keys_only": true}, &answer)
	if err != nil || len(answer.Kvs) == 0 {
		return nil, err
	}
	var keys []string
	for _, kv := range answer.Kvs {
		key, err := base64.StdEncoding.DecodeString(kv.Key)
		if err != nil {
			return nil, fmt.Errorf("%s answers with a key %.80q: %w", leader, kv.Key, err)
		}
		keys = append(keys, string(key))
	}
	return map[string][]string{leader: keys}, nil
}

// clear removes the keys that begin with the prefix. Leases end by themselves, because no client keeps
// them alive.
func (g *servers) clear(ctx context.Context, prefix string) (int, error) {
	var answer struct {
		Deleted int `json:"deleted,string"`
	}
	_, err := g.onLeader(ctx, "/v3/kv/deleterange", prefix, map[string]any{}, &answer)
	return answer.Deleted, err
}

func byHand(text string) string {
	return fmt.Sprintf("ETCDCTL_API=3 etcdctl --endpoints HOST:PORT del --prefix '%s'", text)
}
