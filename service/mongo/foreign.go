package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/service"
)

var _ service.Foreign = Service{}

// usualPort is the default port of URLs.
const usualPort = "27017"

// replicaSet is what external servers may form. lockbench starts none: the server that
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

// Schemes returns two synonyms.
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
		m, about, err := meet(ctx, addr, l.Logins[service.Data], dial)
		same := slices.IndexFunc(all, func(o member) bool { return o.Calls != "" && o.Calls == m.Calls })
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", addr, err)
		case m.Kind == router:
			return fmt.Errorf("%s is a router of a sharded cluster: name the members of one replica set", addr)
		case m.Arbiter:
			return fmt.Errorf("%s is an arbiter, which keeps nothing: leave it out", addr)
		case same >= 0:
			return fmt.Errorf("%s is the same server as %s", addr, addrs[same])
		case m.Set == "" && len(l.Addrs) > 1:
			return fmt.Errorf("%s is of no replica set: name one server, or the members of one set", addr)
		case len(all) > 0 && all[0].Set != m.Set:
			return fmt.Errorf("%s and %s are of two replica sets, %s and %s: name the members of one", addrs[0], addr, all[0].Set, m.Set)
		}
		all, addrs, site.About = append(all, m), append(addrs, addr), about
		return nil
	}
	for _, addr := range l.Addrs {
		if err := look(addr); err != nil {
			return site, err
		}
	}
	// Look for members that --servers does not name at the addresses by which the others find them.
	for _, addr := range slices.Concat(all[0].Hosts, all[0].Passives) {
		if slices.ContainsFunc(all, func(m member) bool { return m.Calls == addr }) {
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
		if all[i].Calls != "" {
			site.Called[all[i].Calls] = n.Name
		}
	}
	return site, nil
}

// meet logs in to a server and asks for its identity and its version.
func meet(ctx context.Context, addr string, as service.Credentials, dial func(context.Context, service.Role, string) (net.Conn, error)) (m member, about string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*service.AskLimit)
	defer cancel()
	c, err := dial(ctx, service.Data, addr)
	if err != nil {
		return m, "", err
	}
	defer c.Close()
	if err := logIn(ctx, c, as); err != nil {
		return m, "", err
	}
	if err := exchange(ctx, c, hello, 1, &m); err != nil {
		return m, "", err
	}
	var build struct {
		Version string `bson:"version"`
		Ferret  string `bson:"ferretdbVersion"`
	}
	if err := exchange(ctx, c, question("admin", "buildInfo", 1, nil), 1, &build); err != nil {
		return m, "", err
	}
	if build.Ferret != "" {
		return m, "FerretDB " + strings.TrimPrefix(build.Ferret, "v") + ", which is not MongoDB", nil
	}
	return m, "MongoDB " + build.Version, nil
}

// foreign are external servers: these abilities, and no other.
type foreign struct {
	service.Servers
	own    *servers
	prefix string
}

func (Service) OpenForeign(site service.Site, prefix string, h service.Host) service.ForeignServers {
	g := newServers(site.Topology, h, site.Database, site.Called)
	g.login = site.Logins[service.Data]
	return foreign{g, g, prefix}
}

// Params returns the database of the locks, and the login of clients.
func (f foreign) Params() map[string]string {
	params := f.own.Params()
	if f.own.login.User != "" {
		params[User], params[Password] = f.own.login.User, f.own.login.Password
	}
	return params
}

// collection is where locks keep their documents. Each is called as its key.
const collection = "locks"

// called is the condition that a document's name matches an expression.
func called(expression string) bson.M { return bson.M{"_id": bson.M{"$regex": expression}} }

// onLeader sends a command to the server that takes writes.
func (f foreign) onLeader(ctx context.Context, command string, arguments bson.M, into any) (string, error) {
	leader, err := f.own.Leader(ctx)
	if err != nil {
		return "", err
	}
	err = f.own.ask(ctx, leader, question(f.own.database, command, collection, arguments), into)
	if no := (*refusal)(nil); errors.As(err, &no) && no.Code == codeUnauthorized {
		err = fmt.Errorf("%w: a run needs a user of the database admin, mongodb://USER@HOST:PORT/DATABASE, that has the role readWrite in the database %s: "+
			`db.getSiblingDB("admin").grantRolesToUser("USER", [{role: "readWrite", db: %q}])`, err, f.own.database, f.own.database)
	}
	return leader, err
}

// Under looks for documents by their names.
func (f foreign) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
	var said struct {
		Values []string `bson:"values"`
	}
	leader, err := f.onLeader(ctx, "distinct", bson.M{"key": "_id", "query": called(regexp.QuoteMeta(text))}, &said)
	if err != nil || len(said.Values) == 0 {
		return nil, err
	}
	return map[string][]string{leader: said.Values[:min(most, len(said.Values))]}, nil
}

// Clear removes the documents whose names begin with the prefix, from all members.
func (f foreign) Clear(ctx context.Context) (int, error) {
	arguments := bson.M{"deletes": bson.A{bson.M{"q": called("^" + regexp.QuoteMeta(f.prefix)), "limit": 0}}}
	if len(f.Nodes()) > 1 {
		arguments["writeConcern"] = bson.M{"w": "majority"}
	}
	var said struct {
		N *int `bson:"n"`
	}
	if _, err := f.onLeader(ctx, "delete", arguments, &said); err != nil {
		return 0, err
	}
	if said.N == nil {
		return 0, errors.New("it does not say how many documents it has removed")
	}
	return *said.N, nil
}

func (f foreign) ByHand(text string) string {
	return fmt.Sprintf(`mongosh mongodb://HOST:PORT/%s --eval 'db.%s.deleteMany({_id: /%s/})'`, f.own.database, collection, text)
}
