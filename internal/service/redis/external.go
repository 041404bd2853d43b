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

	"lockbench/internal/service"
	"lockbench/locks"
)

// Default ports of URLs.
const (
	usualPort     = "6379"
	usualSentinel = "26379"
)

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
		if l.Topology.Name != locks.Single || all.Topology.Name != locks.Single && all.Topology.Name != locks.Independent {
			return l, fmt.Errorf("%s: several URLs are independent masters, each redis://HOST:PORT; put the hosts of one Sentinel set or one cluster into one URL, with commas between them", text)
		}
		if l.TLS != all.TLS || l.User != all.User || l.Database != all.Database {
			return l, fmt.Errorf("%s: all masters need the same user, the same database, and the same scheme: all with TLS (rediss) or none", text)
		}
		all.Addrs = append(all.Addrs, l.Addrs...)
		all.Topology = form(locks.Independent).Sized(len(all.Addrs))
	}
	return all, service.Twice(all.Addrs)
}

// form returns a topology by its name.
func form(name locks.Topology) service.Topology {
	return topologies[slices.IndexFunc(topologies, func(t service.Topology) bool { return t.Name == name })]
}

func locateOne(text string) (l service.Location, err error) {
	scheme, _, _ := strings.Cut(text, "://")
	way, topology, _ := strings.Cut(scheme, "+")
	port := usualPort
	switch topology {
	case "":
		l.Topology = form(locks.Single)
	case string(locks.Sentinel), string(locks.Cluster):
		l.Topology = form(locks.Topology(topology))
	default:
		return l, fmt.Errorf("the scheme is redis://, redis+sentinel:// or redis+cluster://, not %q", topology)
	}
	if l.Topology.Name == locks.Sentinel {
		port = usualSentinel
	}
	u, err := service.ReadURL(text, port)
	if err != nil {
		return l, err
	}
	l.TLS, l.User, l.Addrs = way == "rediss", u.User, u.Addrs
	switch {
	case l.Topology.Name == locks.Sentinel && u.Path == "":
		return l, errors.New("sentinels find a master by its name: redis+sentinel://HOST:PORT,HOST:PORT/MASTER")
	case l.Topology.Name == locks.Sentinel:
		l.Master = u.Path
	case u.Path == "":
	case l.Topology.Name == locks.Cluster:
		return l, fmt.Errorf("the path /%s cannot be used: a cluster has only database 0", u.Path)
	default:
		if n, err := strconv.ParseUint(u.Path, 10, 16); err != nil || strconv.FormatUint(n, 10) != u.Path {
			return l, fmt.Errorf("the path /%s is not the number of a database, such as redis://HOST:PORT/3", u.Path)
		}
		l.Database = u.Path
	}
	switch {
	case l.Topology.Name == locks.Single && len(l.Addrs) > 1:
		return l, errors.New("write one URL for each server: redis://A:6379,redis://B:6379")
	}
	return l, nil
}

// logIn sends AUTH and selects the database. A server without a password accepts any password.
func logIn(ctx context.Context, plain net.Conn, as service.Access) (net.Conn, error) {
	c, err := service.Secure(ctx, plain, as)
	if err != nil {
		return c, err
	}
	return c, service.Interrupt(ctx, c, func() error {
		if as.Password != "" {
			command := []string{"AUTH", as.User, as.Password}
			if as.User == "" {
				command = []string{"AUTH", as.Password}
			}
			_, err := exchange(c, command...)
			said, refused := refusal(err, "")
			switch {
			case refused && (as.User != "" || !strings.Contains(said, "without any password configured")):
				return &service.LoginError{Said: said}
			case err != nil && !refused:
				return err
			}
		}
		if as.Database == "" {
			return nil
		}
		_, err := exchange(c, "SELECT", as.Database)
		if said, refused := refusal(err, "NOAUTH"); refused {
			return &service.LoginError{Said: said}
		}
		return err
	})
}

// surveyor finds the servers of a location.
type surveyor struct {
	service.Location
	dial           service.Dialer
	data, watchers []string          // the addresses of servers by their roles
	also           map[string]string // servers by other addresses by which they are called
}

// ask sends one command to a server.
func (s *surveyor) ask(ctx context.Context, r service.Role, addr string, command ...string) (reply any, err error) {
	dial := service.Dialer(func(ctx context.Context, _ service.Role, addr string) (net.Conn, error) { return s.dial(ctx, r, addr) })
	err = dial.Ask(ctx, addr, func(_ context.Context, c net.Conn) error {
		reply, err = exchange(c, command...)
		if said, refused := refusal(err, "NOAUTH"); refused {
			return &service.LoginError{Said: said, Role: r}
		}
		return err
	})
	return reply, err
}

// survey finds all servers and checks the role of each.
func survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	s := &surveyor{Location: l, dial: dial, also: map[string]string{}}
	find := s.watched
	switch l.Topology.Name {
	case locks.Sentinel:
	case locks.Cluster:
		find = s.clustered
	default:
		return l.Survey(ctx, s.alone)
	}
	site := service.Site{Location: l, Topology: l.Topology, Addrs: map[string]string{}, Called: map[string]string{}}
	if err := find(ctx); err != nil {
		return site, err
	}
	slices.Sort(s.data)
	slices.Sort(s.watchers)
	site.Topology.FirstAlone = false // the leader led before the run
	site.Topology.Parts = slices.Clone(l.Topology.Parts)
	for i, p := range site.Topology.Parts {
		site.Topology.Parts[i].Count = len(s.data)
		if p.Role == service.Witness {
			site.Topology.Parts[i].Count = len(s.watchers)
		}
	}
	site.Topology.Short = fmt.Sprintf("cluster of %d", len(s.data))
	if l.Topology.Name == locks.Sentinel {
		site.Topology.Short = fmt.Sprintf("sentinel 1+%d", len(s.data)-1)
	}
	all := slices.Concat(s.data, s.watchers) // in the order of the parts
	for i, n := range site.Topology.Nodes() {
		site.Addrs[n.Name], site.Called[all[i]] = all[i], n.Name
	}
	for other, addr := range s.also {
		site.Called[other] = site.Called[addr]
	}
	info, err := s.ask(ctx, service.Data, s.data[0], "INFO", "server")
	site.About = Name + " " + fields(info)["redis_version"]
	return site, err
}

// alone identifies a server that does not know others. It must be a master.
func (s *surveyor) alone(ctx context.Context, addr string) (is service.Identity, err error) {
	reply, err := s.ask(ctx, service.Data, addr, "INFO")
	if err != nil {
		return is, err
	}
	info := fields(reply)
	switch {
	case info["redis_mode"] == "sentinel":
		err = fmt.Errorf("%s is a sentinel: name it as redis+sentinel://%s/MASTER", addr, addr)
	case info["cluster_enabled"] == "1":
		err = fmt.Errorf("%s is a node of a cluster: name it as redis+cluster://%s", addr, addr)
	case info["role"] != "master":
		err = fmt.Errorf("%s is not a master (role %s of %s:%s): name the master, or the sentinels that watch it", addr, info["role"], info["master_host"], info["master_port"])
	}
	return service.Identity{About: Name + " " + info["redis_version"], ID: info["run_id"]}, err
}

// watched finds a master, its replicas and its sentinels, in the view of the first sentinel.
func (s *surveyor) watched(ctx context.Context) error {
	known := map[string]bool{} // sentinels, by their IDs
	var errs []error
	for _, addr := range s.Addrs {
		id, err := s.ask(ctx, service.Witness, addr, "SENTINEL", "MYID")
		errs = append(errs, err)
		if err == nil && known[fmt.Sprint(id)] {
			return fmt.Errorf("%s is a sentinel that is named twice, with two addresses", addr)
		}
		known[fmt.Sprint(id)] = true
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("ask the sentinels: %w", err)
	}
	s.watchers = slices.Clone(s.Addrs)
	ask := func(what string) (any, error) {
		return s.ask(ctx, service.Witness, s.Addrs[0], "SENTINEL", what, s.Master)
	}
	master, err := ask("GET-MASTER-ADDR-BY-NAME")
	if err != nil {
		return err
	}
	at := texts(master)
	if len(at) != 2 {
		return fmt.Errorf("%s watches no master named %q", s.Addrs[0], s.Master)
	}
	replicas, err1 := ask("REPLICAS")
	others, err2 := ask("SENTINELS")
	s.data = append(s.data, net.JoinHostPort(at[0], at[1]))
	for _, r := range lists(replicas) {
		s.data = append(s.data, net.JoinHostPort(r["ip"], r["port"]))
	}
	for _, r := range lists(others) {
		if !known[r["runid"]] {
			s.watchers = append(s.watchers, net.JoinHostPort(r["ip"], r["port"]))
		}
	}
	return errors.Join(err1, err2)
}

// clustered finds all nodes that the first node that answers knows.
func (s *surveyor) clustered(ctx context.Context) error {
	var errs []error
	for _, addr := range s.Addrs {
		reply, err := s.ask(ctx, service.Data, addr, "CLUSTER", "NODES")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for line := range strings.Lines(fmt.Sprint(reply)) {
			words := strings.Fields(line)
			if len(words) < 8 {
				return fmt.Errorf("%s answers CLUSTER NODES with %q", addr, line)
			}
			host, port := placeOf(words[1])
			node := net.JoinHostPort(host, port)
			if host == "" {
				node = addr // a node may not know its own address
			}
			if names := strings.Split(words[1], ","); len(names) > 1 && names[1] != "" {
				s.also[net.JoinHostPort(names[1], port)] = node
			}
			s.data = append(s.data, node)
		}
		return nil
	}
	return fmt.Errorf("ask the nodes of the cluster: %w", errors.Join(errs...))
}

func openExternal(s service.Site, prefix string, h service.Host) service.ExternalServers {
	servers, g := open(s.Topology, h)
	g.prefix, g.calls = prefix, s.Called
	if w, ok := servers.(*watched); ok && s.Master != "" {
		w.master = s.Master
	}
	// All except Promote and the orders that would remove keys of the owner.
	can := servers.Abilities()
	can.Promote, can.Identity = nil, nil
	can.Orders = map[string]service.Order{service.OrderPoison: can.Orders[service.OrderPoison], service.OrderCure: can.Orders[service.OrderCure]}
	found := searched{g}
	e := service.ExternalServers{Servers: servers, Under: found.under, All: found.all, ByHand: byHand, Can: can}
	e.Clear = func(ctx context.Context) (int, error) { return e.ClearEach(ctx, prefix, found.remove) }
	return e
}

// searched are the servers of a user, who has other keys there.
type searched struct{ *nodes }

// under searches the keys of all masters.
func (g searched) under(ctx context.Context, text string, most int) (map[string][]string, error) {
	under := map[string][]string{}
	for _, node := range g.Leaders(ctx) {
		keys, err := g.scan(ctx, node, text, most)
		if err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			under[node] = keys
		}
	}
	return under, nil
}

// all returns the keys of all masters.
func (g searched) all(ctx context.Context, most int) ([]string, error) {
	under, err := g.under(ctx, "", most)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(slices.Collect(maps.Values(under))...)
	slices.Sort(all)
	return all[:min(len(all), most)], nil
}

// remove removes one key, because each may be in another slot.
func (g searched) remove(ctx context.Context, node, key string) (int, error) {
	return 1, g.order(ctx, node, "DEL", key)
}

// byHand accepts any beginning of a key, because libraries put their own before the name of a lock. Each line is one
// argument of xargs, because a name can have blanks and quotes.
func byHand(text string) string {
	return fmt.Sprintf("redis-cli -h HOST -p PORT --scan --pattern '*%s*' | tr '\\n' '\\0' | xargs -0 -n 1 redis-cli -h HOST -p PORT DEL, on each master", text)
}

// scan returns the keys of a server that contain a text, sorted.
func (g *nodes) scan(ctx context.Context, node, text string, most int) ([]string, error) {
	var keys []string
	for cursor := "0"; ; {
		reply, err := g.ask(ctx, node, "SCAN", cursor, "MATCH", "*"+text+"*", "COUNT", "1000")
		if err != nil {
			return nil, err
		}
		list, _ := reply.([]any)
		if len(list) != 2 {
			return nil, fmt.Errorf("%s answers SCAN with %v", node, reply)
		}
		keys = append(keys, texts(list[1])...)
		slices.Sort(keys)
		keys = slices.Compact(keys) // SCAN may return a key twice
		if cursor = fmt.Sprint(list[0]); cursor == "0" || len(keys) >= most {
			return keys[:min(len(keys), most)], nil
		}
	}
}
