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

// usualPort is the default port of URLs.
const usualPort = "27017"

// replicaSet is what external servers may form. lockbench starts none: the server that
// lockbench-more has is always alone.
var replicaSet = service.Topology{
	Name: "quorum", Short: "mongo replica set of {n}", Leads: service.OneLeader, Entry: Name, Discovers: true, Outlives: true,
	Parts: []service.Part{{Name: Name, Role: service.Data, Count: 3}},
}

// Schemes returns two synonyms.
func (Service) Schemes() []string { return []string{"mongodb", Name} }

// Locate reads
//
//	mongodb://user@host:port,.../database    all members of one replica set, or one server
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
	l.Topology = topologies[0]
	if n := len(l.Addrs); n > 1 {
		l.Topology = replicaSet.Sized(n)
	}
	return l, nil
}

// Survey asks each server for its identity, and for the names that members of a replica set have for
// each other.
func (Service) Survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	site := l.Site()
	var first member
	seen := map[string]string{} // addresses by the names of members
	for i, n := range site.Topology.Nodes() {
		addr := l.Addrs[i]
		m, about, err := identify(ctx, addr, l.Logins[service.Data], dial)
		if i == 0 {
			first = m
		}
		switch {
		case err != nil:
			return site, err
		case m.Kind == router:
			return site, fmt.Errorf("%s is a router of a sharded cluster: name the members of one replica set", addr)
		case m.Arbiter:
			return site, fmt.Errorf("%s is an arbiter, which keeps nothing: leave it out", addr)
		case seen[m.Calls] != "":
			return site, fmt.Errorf("%s is the same server as %s", addr, seen[m.Calls])
		case m.Set == "" && len(l.Addrs) > 1:
			return site, fmt.Errorf("%s is of no replica set: name one server, or the members of one set", addr)
		case m.Set != first.Set:
			return site, fmt.Errorf("%s and %s are of two replica sets, %s and %s: name the members of one", l.Addrs[0], addr, first.Set, m.Set)
		}
		if m.Calls != "" {
			seen[m.Calls], site.Called[m.Calls] = addr, n.Name
		}
		site.About = about
	}
	for _, name := range slices.Concat(first.Hosts, first.Passives) {
		if seen[name] == "" {
			return site, fmt.Errorf("%s has a member %s that --servers does not name: name all members, by where clients reach them", l.Addrs[0], name)
		}
	}
	return site, nil
}

// identify logs in to a server and asks for its identity and its version.
func identify(ctx context.Context, addr string, as service.Credentials, dial service.Dialer) (m member, about string, err error) {
	var build struct {
		Version string `bson:"version"`
		Ferret  string `bson:"ferretdbVersion"`
	}
	err = dial.Ask(ctx, addr, func(_ context.Context, c net.Conn) error {
		err := logIn(c, as)
		if err == nil {
			err = exchange(c, hello, 1, &m)
		}
		if err == nil {
			err = exchange(c, question("admin", "buildInfo", 1, nil), 1, &build)
		}
		return err
	})
	if build.Ferret != "" {
		return m, "FerretDB " + strings.TrimPrefix(build.Ferret, "v") + ", which is not MongoDB", err
	}
	return m, "MongoDB " + build.Version, err
}

// external are external servers: these abilities, and no other.
type external struct {
	service.Servers
	own    *servers
	prefix string
}

func (Service) OpenExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := newServers(site.Topology, h, site.Database, site.Called)
	g.login = site.Logins[service.Data]
	f := external{g, g, prefix}
	return service.ExternalServers{Servers: f, Under: f.Under, Clear: f.Clear, ByHand: f.ByHand}
}

// Abilities returns none: lockbench orders external servers nothing.
func (external) Abilities() service.Abilities { return service.Abilities{} }

// Params returns the database of the locks, and the login of clients.
func (f external) Params() map[string]string {
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
func (f external) onLeader(ctx context.Context, command string, arguments bson.M, into any) (string, error) {
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
func (f external) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
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
func (f external) Clear(ctx context.Context) (int, error) {
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

func (f external) ByHand(text string) string {
	return fmt.Sprintf(`mongosh mongodb://HOST:PORT/%s --eval 'db.%s.deleteMany({_id: /%s/})'`, f.own.database, collection, text)
}
