package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"lockbench/service"
)

var _ service.Foreign = Service{}

// usualPort is that of URLs that name none.
const usualPort = "27017"

// replicaSet is what servers of somebody else's may form. Nobody starts one here: the server that
// lockbench-more has is always alone.
var replicaSet = service.Topology{
	Name: "quorum", Short: "mongo replica set of {n}", Leads: service.OneLeader, Entry: Name, Discovers: true, Outlives: true,
	Parts: []service.Part{{Name: Name, Role: service.Data, Count: 3}},
}

func sized(n int) service.Topology {
	if n == 1 {
		return topologies[0]
	}
	return replicaSet.Sized(n)
}

// Schemes are two names of one thing.
func (Service) Schemes() []string { return []string{"mongodb", Name} }

// Locate reads
//
//	mongodb://user@host:port,.../database    members of one replica set, or one server
//
// and mongodb+tls in the place of mongodb for TLS.
func (Service) Locate(urls []string) (l service.Location, err error) {
	u, err := service.OneGroup(urls, usualPort)
	if err != nil {
		return l, err
	}
	way, tls, secured := strings.Cut(u.Scheme, "+")
	l = service.Location{Addrs: u.Addrs, User: u.User, Database: u.Path, TLS: tls == "tls"}
	if l.Database == "" {
		l.Database = database
	}
	switch {
	case !slices.Contains(Service{}.Schemes(), way) || secured && !l.TLS:
		return l, fmt.Errorf("%s: servers are named as mongodb://USER@HOST:PORT,HOST:PORT/DATABASE, or mongodb+tls:// for TLS", urls[0])
	case strings.Contains(l.Database, "?"):
		return l, fmt.Errorf("%s: settings in a URL mean nothing here: TLS is mongodb+tls://, and --tls-ca FILE", urls[0])
	case strings.ContainsAny(l.Database, `/\. "$`):
		return l, fmt.Errorf("%s: a database cannot be called %q", urls[0], l.Database)
	}
	l.Topology = sized(len(l.Addrs))
	return l, nil
}

// Survey asks each server who it is, and who the others are.
func (Service) Survey(ctx context.Context, l service.Location, dial func(context.Context, service.Role, string) (net.Conn, error)) (service.Site, error) {
	site := service.Site{Location: l, Topology: l.Topology, Addrs: map[string]string{}, Called: map[string]string{}}
	var all []member
	var addrs []string
	look := func(addr string) error {
		m, about, err := meet(ctx, addr, dial)
		same := slices.IndexFunc(all, func(o member) bool { return o.calls != "" && o.calls == m.calls })
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", addr, err)
		case m.router:
			return fmt.Errorf("%s is a router of a sharded cluster: name the members of one replica set", addr)
		case m.arbiter:
			return fmt.Errorf("%s is an arbiter, which keeps nothing: leave it out", addr)
		case same >= 0:
			return fmt.Errorf("%s is the same server as %s", addr, addrs[same])
		case m.set == "" && len(l.Addrs) > 1:
			return fmt.Errorf("%s is of no replica set: name one server, or the members of one set", addr)
		case len(all) > 0 && all[0].set != m.set:
			return fmt.Errorf("%s and %s are of two replica sets, %s and %s: name the members of one", addrs[0], addr, all[0].set, m.set)
		}
		all, addrs, site.About = append(all, m), append(addrs, addr), about
		return nil
	}
	for _, addr := range l.Addrs {
		if err := look(addr); err != nil {
			return site, err
		}
	}
	// Whom nobody has named is looked for where the others find it.
	for _, addr := range slices.Clone(all[0].others) {
		if slices.ContainsFunc(all, func(m member) bool { return m.calls == addr }) {
			continue
		}
		if err := look(addr); err != nil {
			return site, fmt.Errorf("%s has a member that --servers does not name: %w; name all members, by where clients reach them", l.Addrs[0], err)
		}
	}
	site.Topology = sized(len(all))
	for i, n := range site.Topology.Nodes() {
		site.Addrs[n.Name] = addrs[i]
		site.Called[addrs[i]] = n.Name
		if all[i].calls != "" {
			site.Called[all[i].calls] = n.Name
		}
	}
	return site, nil
}

// meet asks a server who it is, and what.
func meet(ctx context.Context, addr string, dial func(context.Context, service.Role, string) (net.Conn, error)) (m member, about string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*service.AskLimit)
	defer cancel()
	c, err := dial(ctx, service.Data, addr)
	if err != nil {
		return m, "", err
	}
	defer c.Close()
	said, err := exchange(ctx, c, hello, 1)
	if err != nil {
		return m, "", err
	}
	m = memberOf(said)
	if said, err = exchange(ctx, c, document{{"buildInfo", int32(1)}, {"$db", "admin"}}, 1); err != nil {
		return m, "", err
	}
	if ferret, is := said["ferretdbVersion"].(string); is {
		return m, "FerretDB " + strings.TrimPrefix(ferret, "v") + ", which is not MongoDB", nil
	}
	return m, fmt.Sprintf("MongoDB %v", said["version"]), nil
}

// foreign are servers of somebody else's: these abilities, and no other.
type foreign struct {
	service.Servers
	own    *servers
	prefix string
}

// OpenForeign is the servers of a site.
func (Service) OpenForeign(site service.Site, prefix string, h service.Host) service.ForeignServers {
	g := newServers(site.Topology, h, site.Database, site.Called)
	return foreign{g, g, prefix}
}

// collection is where locks keep their documents. Each is called as its key.
const collection = "locks"

// called is the condition that a document's name matches an expression.
func called(expression string) document {
	return document{{"_id", document{{"$regex", expression}}}}
}

// onLeader asks whoever takes writes.
func (f foreign) onLeader(ctx context.Context, question document) (string, map[string]any, error) {
	leader, err := f.own.Leader(ctx)
	if err != nil {
		return "", nil, err
	}
	said, err := f.own.ask(ctx, leader, append(question, field{"$db", f.own.database}))
	if no := (*refusal)(nil); errors.As(err, &no) && no.code == codeUnauthorized {
		err = fmt.Errorf("%w: a run needs a user of the database admin, mongodb://USER@HOST:PORT/DATABASE, that has the role readWrite in the database %s: "+
			`db.getSiblingDB("admin").grantRolesToUser("USER", [{role: "readWrite", db: %q}])`, err, f.own.database, f.own.database)
	}
	return leader, said, err
}

// Under looks for documents by their names.
func (f foreign) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
	leader, said, err := f.onLeader(ctx, document{{"distinct", collection}, {"key", "_id"}, {"query", called(regexp.QuoteMeta(text))}})
	names, _ := said["values"].([]string)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return map[string][]string{leader: names[:min(most, len(names))]}, nil
}

// Clear removes the documents whose names begin with the prefix, from all members.
func (f foreign) Clear(ctx context.Context) (int, error) {
	question := document{{"delete", collection}, {"deletes", list{{"0", document{{"q", called("^" + regexp.QuoteMeta(f.prefix))}, {"limit", int32(0)}}}}}}
	if len(f.Nodes()) > 1 {
		question = append(question, field{"writeConcern", document{{"w", "majority"}}})
	}
	_, said, err := f.onLeader(ctx, question)
	if err != nil {
		return 0, err
	}
	n, is := said["n"].(int32)
	if !is {
		return 0, errors.New("it does not say how many documents it has removed")
	}
	return int(n), nil
}

// ByHand is what a person types.
func (f foreign) ByHand(text string) string {
	return fmt.Sprintf(`mongosh mongodb://HOST:PORT/%s --eval 'db.%s.deleteMany({_id: /%s/})'`, f.own.database, collection, text)
}
