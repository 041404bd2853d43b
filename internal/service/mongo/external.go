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

	"lockbench/internal/service"
)

// replicaSet is what external servers may form. lockbench starts none: the server that
// lockbench-more has is always alone.
var replicaSet = service.Topology{
	Name: "quorum", Short: "mongo replica set of {n}", Leads: service.OneLeader, Entry: Name, Discovers: true, Outlives: true,
	Parts: []service.Part{{Name: Name, Role: service.Data, Count: 3}},
}

// urls are such as mongodb://user@host:port,.../database for all members of one replica set, or one server.
var urls = service.URLForm{
	Plain: []string{"mongodb", Name}, TLS: []string{"mongodb+tls", Name + "+tls"}, Port: "27017",
	Named: "servers are named as mongodb://USER@HOST:PORT,HOST:PORT/DATABASE, or mongodb+tls:// for TLS",
	One:   topologies[0], Several: replicaSet,
	Location: service.Location{Database: database},
}

func locate(all []string) (service.Location, error) {
	l, err := urls.Locate(all)
	if err == nil && strings.ContainsAny(l.Database, `/\. "$`) {
		err = fmt.Errorf("%s: a database cannot be called %q", all[0], l.Database)
	}
	return l, err
}

// survey asks each server for its identity and its version. Members of a replica set have names of their
// own for each other.
func survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	return l.Survey(ctx, func(ctx context.Context, addr string) (is service.Identity, err error) {
		var m member
		var build struct {
			Version string `bson:"version"`
			Ferret  string `bson:"ferretdbVersion"`
		}
		err = dial.Ask(ctx, addr, func(_ context.Context, c net.Conn) error {
			err := logIn(c, l.Logins[service.Data])
			if err == nil {
				err = exchange(c, hello, 1, &m)
			}
			if err == nil {
				err = exchange(c, question("admin", "buildInfo", 1, nil), 1, &build)
			}
			return err
		})
		switch {
		case err != nil:
			return is, err
		case m.Kind == router:
			return is, fmt.Errorf("%s is a router of a sharded cluster: name the members of one replica set", addr)
		case m.Arbiter:
			return is, fmt.Errorf("%s is an arbiter, which stores no data: remove it from --servers", addr)
		case m.Set == "" && len(l.Addrs) > 1:
			return is, fmt.Errorf("%s does not belong to a replica set: name one server, or the members of one set", addr)
		}
		is = service.Identity{About: "MongoDB " + build.Version, ID: m.Calls, Group: m.Set, Also: m.Calls, Members: map[string]string{}}
		if build.Ferret != "" {
			is.About = "FerretDB " + strings.TrimPrefix(build.Ferret, "v") + ", which is not MongoDB"
		}
		for _, name := range slices.Concat(m.Hosts, m.Passives) {
			is.Members[name] = name
		}
		return is, nil
	})
}

func openExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := newServers(site.Topology, h, site.Database)
	g.login = site.Logins[service.Data]
	return service.ExternalServers{
		Servers: g, Under: g.under, ByHand: g.byHand,
		Clear: func(ctx context.Context) (int, error) { return g.clear(ctx, prefix) },
	}
}

// collection is where locks keep their documents. Each is called as its key.
const collection = "locks"

// called is the condition that a document's name matches an expression.
func called(expression string) bson.M { return bson.M{"_id": bson.M{"$regex": expression}} }

// onLeader sends a command to the server that takes writes.
func (g *servers) onLeader(ctx context.Context, command string, arguments bson.M, into any) (string, error) {
	leader, err := g.Leader(ctx)
	if err != nil {
		return "", err
	}
	err = g.ask(ctx, leader, question(g.database, command, collection, arguments), into)
	if no := (*refusal)(nil); errors.As(err, &no) && no.Code == codeUnauthorized {
		err = fmt.Errorf("%w: a run needs a user of the database admin, mongodb://USER@HOST:PORT/DATABASE, that has the role readWrite in the database %s: "+
			`db.getSiblingDB("admin").grantRolesToUser("USER", [{role: "readWrite", db: %q}])`, err, g.database, g.database)
	}
	return leader, err
}

// under looks for documents by their names.
func (g *servers) under(ctx context.Context, text string, most int) (map[string][]string, error) {
	var said struct {
		Values []string `bson:"values"`
	}
	leader, err := g.onLeader(ctx, "distinct", bson.M{"key": "_id", "query": called(regexp.QuoteMeta(text))}, &said)
	if err != nil || len(said.Values) == 0 {
		return nil, err
	}
	return map[string][]string{leader: said.Values[:min(most, len(said.Values))]}, nil
}

// clear removes the documents whose names begin with the prefix, from all members.
func (g *servers) clear(ctx context.Context, prefix string) (int, error) {
	arguments := bson.M{"deletes": bson.A{bson.M{"q": called("^" + regexp.QuoteMeta(prefix)), "limit": 0}}}
	if len(g.Nodes()) > 1 {
		arguments["writeConcern"] = bson.M{"w": "majority"}
	}
	var said struct {
		N *int `bson:"n"`
	}
	if _, err := g.onLeader(ctx, "delete", arguments, &said); err != nil {
		return 0, err
	}
	if said.N == nil {
		return 0, errors.New("it does not report how many documents it has removed")
	}
	return *said.N, nil
}

func (g *servers) byHand(text string) string {
	return fmt.Sprintf(`mongosh mongodb://HOST:PORT/%s --eval 'db.%s.deleteMany({_id: /%s/})'`, g.database, collection, text)
}
