package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"lockbench/locks"
	"lockbench/service"
)

// Default ports of URLs.
const (
	usualPort     = "6379"
	usualSentinel = "26379"
)

// External returns how lockbench uses Redis of the user, without and with TLS.
func (Service) External() service.External {
	return service.External{Schemes: []string{"redis", "rediss"}, Locate: locate, Login: logIn, Survey: survey, Open: openExternal}
}

// locate reads
//
//	redis://host:port/database              one server; several URLs: independent masters
//	redis+sentinel://host:port,.../master   sentinels, and their name of the master
//	redis+cluster://host:port,...           nodes of a cluster, which know the others
//
// and rediss instead of redis for TLS. A user may precede the first host.
func locate(urls []string) (service.Location, error) {
	var all service.Location
	for i, text := range urls {
		l, err := locateOne(text)
		if err != nil {
			return l, fmt.Errorf("%s: %w", service.Redacted(text), err)
		}
		if i == 0 {
			all = l
			continue
		}
		if l.Topology.Name != Single || all.Topology.Name != Single && all.Topology.Name != Independent {
			return l, fmt.Errorf("%s: several URLs are independent masters, each redis://HOST:PORT; the hosts of one set of sentinels or of one cluster stand in one URL, with commas between", text)
		}
		if l.TLS != all.TLS || l.User != all.User || l.Database != all.Database {
			return l, fmt.Errorf("%s: all masters must be reached in one way: as one user, in one database, and all with TLS (rediss) or none", text)
		}
		all.Addrs = append(all.Addrs, l.Addrs...)
		all.Topology = form(Independent).Sized(len(all.Addrs))
	}
	return all, service.Twice(all.Addrs)
}

// form returns a topology by its name.
func form(name locks.Topology) service.Topology {
	t, _ := service.Find(Service{}, name)
	return t
}

func locateOne(text string) (l service.Location, err error) {
	scheme, _, _ := strings.Cut(text, "://")
	way, topology, _ := strings.Cut(scheme, "+")
	port := usualPort
	switch topology {
	case "":
		l.Topology = form(Single)
	case string(Sentinel), string(Cluster):
		l.Topology = form(locks.Topology(topology))
	default:
		return l, fmt.Errorf("servers are joined as redis://, redis+sentinel:// or redis+cluster://, not as %q", topology)
	}
	if l.Topology.Name == Sentinel {
		port = usualSentinel
	}
	u, err := service.ReadURL(text, port)
	if err != nil {
		return l, err
	}
	l.TLS, l.User, l.Addrs = way == "rediss", u.User, u.Addrs
	switch {
	case l.Topology.Name == Sentinel && u.Path == "":
		return l, errors.New("sentinels find a master by its name: redis+sentinel://HOST:PORT,HOST:PORT/MASTER")
	case l.Topology.Name == Sentinel:
		l.Master = u.Path
	case u.Path == "":
	case l.Topology.Name == Cluster:
		return l, fmt.Errorf("the path /%s means nothing here: a cluster has database 0 alone", u.Path)
	default:
		if n, err := strconv.ParseUint(u.Path, 10, 16); err != nil || strconv.FormatUint(n, 10) != u.Path {
			return l, fmt.Errorf("the path /%s is not the number of a database, such as redis://HOST:PORT/3", u.Path)
		}
		l.Database = u.Path
	}
	switch {
	case l.Topology.Name == Single && len(l.Addrs) > 1:
		return l, errors.New("several servers are several URLs: redis://A:6379,redis://B:6379")
	}
	return l, nil
}

// logIn sends AUTH and selects the database. A server without a password accepts any password.
func logIn(ctx context.Context, plain net.Conn, as service.Access) (net.Conn, error) {
	c, err := service.Secure(ctx, plain, as)
	if err == nil && as.Password != "" {
		err = authorize(ctx, c, as.Credentials)
	}
	if err == nil && as.Database != "" {
		_, err = askOn(ctx, c, "SELECT", as.Database)
		if said := serverError(""); errors.As(err, &said) && strings.HasPrefix(string(said), "NOAUTH") {
			err = &service.LoginError{Said: string(said)}
		}
	}
	return c, err
}

func authorize(ctx context.Context, c net.Conn, as service.Credentials) error {
	command := []string{"AUTH", as.Password}
	if as.User != "" {
		command = []string{"AUTH", as.User, as.Password}
	}
	_, err := askOn(ctx, c, command...)
	var said serverError
	switch {
	case !errors.As(err, &said):
		return err
	case as.User == "" && strings.Contains(string(said), "without any password configured"):
		return nil
	}
	return &service.LoginError{Said: string(said)}
}

// asker queries servers by address.
type asker func(ctx context.Context, r service.Role, addr string) (net.Conn, error)

func (dial asker) ask(ctx context.Context, r service.Role, addr string, command ...string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*askLimit)
	defer cancel()
	c, err := dial(ctx, r, addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	defer c.Close()
	reply, err := askOn(ctx, c, command...)
	var said serverError
	switch {
	case errors.As(err, &said) && strings.HasPrefix(string(said), "NOAUTH"):
		return nil, fmt.Errorf("%s: %w", addr, &service.LoginError{Said: string(said), Role: r})
	case err != nil:
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	return reply, nil
}

// found are servers by their IDs.
type found struct{ data, watchers []spot }

// spot is the address of a server, with the other addresses by which it is called.
type spot struct {
	addr string
	also []string
}

// survey finds all servers and checks the role of each.
func survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	ask := asker(dial)
	site := service.Site{Location: l, Topology: l.Topology, Addrs: map[string]string{}, Called: map[string]string{}}
	var all found
	var err error
	switch l.Topology.Name {
	case Sentinel:
		all, err = ask.watched(ctx, l)
	case Cluster:
		all, err = ask.clustered(ctx, l)
	default:
		all.data, err = ask.alone(ctx, l)
	}
	if err != nil {
		return site, err
	}
	site.Topology.FirstAlone = false // the leader led before the run
	site.Topology.Parts = slices.Clone(l.Topology.Parts)
	for i, p := range site.Topology.Parts {
		places := all.data
		if p.Role == service.Witness {
			places = all.watchers
		}
		slices.SortFunc(places, func(a, b spot) int { return strings.Compare(a.addr, b.addr) })
		site.Topology.Parts[i].Count = len(places)
		for k, n := range site.Topology.InPart(p.Name) {
			site.Addrs[n.Name] = places[k].addr
			for _, addr := range append(places[k].also, places[k].addr) {
				site.Called[addr] = n.Name
			}
		}
	}
	switch l.Topology.Name {
	case Sentinel:
		site.Topology.Short = fmt.Sprintf("sentinel 1+%d", len(all.data)-1)
	case Cluster:
		site.Topology.Short = fmt.Sprintf("cluster of %d", len(all.data))
	}
	info, err := ask.ask(ctx, service.Data, all.data[0].addr, "INFO", "server")
	if err != nil {
		return site, err
	}
	site.About = Name + " " + fields(info)["redis_version"]
	return site, nil
}

// fields parses an answer to INFO.
func fields(reply any) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(fmt.Sprint(reply)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		all[name] = value
	}
	return all
}

// alone returns the site of servers that do not know each other. Each must be a master.
func (dial asker) alone(ctx context.Context, l service.Location) ([]spot, error) {
	places := make([]spot, len(l.Addrs))
	ids := make([]string, len(l.Addrs))
	for i, addr := range l.Addrs {
		reply, err := dial.ask(ctx, service.Data, addr, "INFO")
		if err != nil {
			return nil, err
		}
		info := fields(reply)
		switch {
		case info["redis_mode"] == "sentinel":
			return nil, fmt.Errorf("%s is a sentinel: name it as redis+sentinel://%s/MASTER", addr, addr)
		case info["cluster_enabled"] == "1":
			return nil, fmt.Errorf("%s is a node of a cluster: name it as redis+cluster://%s", addr, addr)
		case info["role"] != "master":
			return nil, fmt.Errorf("%s is not a master (role %s of %s:%s): name the master, or the sentinels that watch it", addr, info["role"], info["master_host"], info["master_port"])
		case slices.Contains(ids[:i], info["run_id"]):
			return nil, fmt.Errorf("%s is the same server as %s", addr, l.Addrs[slices.Index(ids, info["run_id"])])
		}
		places[i], ids[i] = spot{addr: addr}, info["run_id"]
	}
	return places, nil
}

// watched returns the site of a master, its replicas and its sentinels, in the view of the first
// sentinel that answers.
func (dial asker) watched(ctx context.Context, l service.Location) (all found, err error) {
	known := map[string]bool{} // sentinels, by their IDs
	first := ""
	var errs []error
	for _, addr := range l.Addrs {
		id, err := dial.ask(ctx, service.Witness, addr, "SENTINEL", "MYID")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if known[fmt.Sprint(id)] {
			return all, fmt.Errorf("%s is a sentinel that is named twice, by two addresses", addr)
		}
		known[fmt.Sprint(id)] = true
		all.watchers = append(all.watchers, spot{addr: addr})
		if first == "" {
			first = addr
		}
	}
	if len(errs) > 0 {
		return all, fmt.Errorf("ask the sentinels: %w", errors.Join(errs...))
	}
	at, err := dial.ask(ctx, service.Witness, first, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", l.Master)
	if err != nil {
		return all, err
	}
	if leader := texts(at); len(leader) == 2 {
		all.data = append(all.data, spot{addr: net.JoinHostPort(leader[0], leader[1])})
	} else {
		return all, fmt.Errorf("%s watches no master that is called %q", first, l.Master)
	}
	others := func(what string, each func(map[string]string)) error {
		reply, err := dial.ask(ctx, service.Witness, first, "SENTINEL", what, l.Master)
		list, _ := reply.([]any)
		for _, item := range list {
			each(pairs(item))
		}
		return err
	}
	err = others("REPLICAS", func(r map[string]string) {
		all.data = append(all.data, spot{addr: net.JoinHostPort(r["ip"], r["port"])})
	})
	if err == nil {
		err = others("SENTINELS", func(r map[string]string) {
			if !known[r["runid"]] {
				all.watchers = append(all.watchers, spot{addr: net.JoinHostPort(r["ip"], r["port"])})
			}
		})
	}
	return all, err
}

// clustered returns the site of all nodes that are known to the first node that answers.
func (dial asker) clustered(ctx context.Context, l service.Location) (all found, err error) {
	var errs []error
	for _, addr := range l.Addrs {
		reply, err := dial.ask(ctx, service.Data, addr, "CLUSTER", "NODES")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for line := range strings.Lines(fmt.Sprint(reply)) {
			words := strings.Fields(line)
			if len(words) < 8 {
				return all, fmt.Errorf("%s answers CLUSTER NODES by %q", addr, line)
			}
			host, port := placeOf(words[1])
			p := spot{addr: net.JoinHostPort(host, port)}
			if host == "" {
				p.addr = addr // a node may not know its own address
			}
			if names := strings.Split(words[1], ","); len(names) > 1 && names[1] != "" {
				p.also = append(p.also, net.JoinHostPort(names[1], port))
			}
			all.data = append(all.data, p)
		}
		return all, nil
	}
	return all, fmt.Errorf("ask the nodes of the cluster: %w", errors.Join(errs...))
}

func openExternal(s service.Site, prefix string, h service.Host) service.ExternalServers {
	g := open(s.Topology, h)
	g.prefix, g.calls = prefix, s.Called
	if s.Master != "" {
		g.master = s.Master
	}
	// All except Promote and the orders that would remove keys of the owner.
	can := g.Abilities()
	can.Promote, can.Identity = nil, nil
	can.Orders = map[string]service.Order{service.OrderPoison: can.Orders[service.OrderPoison], service.OrderCure: can.Orders[service.OrderCure]}
	e := service.ExternalServers{Servers: g, Under: g.under, ByHand: byHand, Can: can}
	e.Clear = func(ctx context.Context) (int, error) { return e.ClearEach(ctx, prefix, g.remove) }
	return e
}

// under searches the keys of all masters.
func (g *servers) under(ctx context.Context, text string, most int) (map[string][]string, error) {
	under := map[string][]string{}
	for _, name := range g.Leaders(ctx) {
		s, err := g.server(name)
		if err != nil {
			return nil, err
		}
		keys, err := scan(ctx, s, text, most)
		if err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			under[name] = keys
		}
	}
	return under, nil
}

// remove removes one key, because each may be in another slot.
func (g *servers) remove(ctx context.Context, node, key string) (int, error) {
	s, err := g.server(node)
	if err != nil {
		return 0, err
	}
	return 1, order(ctx, s, "DEL", key)
}

func byHand(text string) string {
	return fmt.Sprintf("redis-cli -h HOST -p PORT --scan --pattern '*%s*' | xargs -n 1 redis-cli -h HOST -p PORT DEL, on each master", text)
}

// scan searches all keys of a server for those that contain a text.
func scan(ctx context.Context, s *server, text string, most int) ([]string, error) {
	seen := map[string]bool{}
	for cursor := "0"; ; {
		reply, err := s.Ask(ctx, "SCAN", cursor, "MATCH", "*"+text+"*", "COUNT", "1000")
		if err != nil {
			return nil, err
		}
		list, _ := reply.([]any)
		if len(list) != 2 {
			return nil, fmt.Errorf("%s answers SCAN by %v", s.Name, reply)
		}
		for _, key := range texts(list[1]) {
			seen[key] = true
		}
		if cursor = fmt.Sprint(list[0]); cursor == "0" || len(seen) >= most {
			break
		}
	}
	keys := slices.Sorted(maps.Keys(seen))
	return keys[:min(len(keys), most)], nil
}
