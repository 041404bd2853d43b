package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/workloads"
)

// Roles are the words by which a scenario names the targets of a fault. They are resolved when the
// fault is injected. Targets may also be named: redis-2, client-3; and combined, as in "master and
// sentinel-1" ([Ends]).
var Roles = []Role{
	{"master", "the master; in a cluster that of the key; of independent masters one that granted"},
	{"replicas", "all data nodes that follow the master"},
	{"a replica", "one of the replicas"},
	{"nearest replica", "the replica that has received most data of the master, which an election prefers"},
	{"minority", "of independent masters (N-1)/2 that granted"},
	{"majority", "of independent masters N/2+1 that granted; else the master"},
	{"nodes", "all servers"},
	{"holder", "the client that started the step by holding a lock, else the one that holds longest"},
	{"a waiter", "a client whose last try was refused, or that waits in its try"},
	{"clients", "all clients"},
	{"half the clients", "a drawn half of the clients, the holder among them"},
}

// Role is a word for a node, a client or several of them.
type Role = Word

// RolesOf returns all roles: those of every service, and its witnesses.
func RolesOf(services []*service.Service) []Role {
	all := slices.Clone(Roles)
	for _, s := range services {
		for _, t := range s.Topologies {
			for _, p := range t.Parts {
				name := p.Name + "s"
				if p.Role == service.Witness && !slices.ContainsFunc(all, func(r Role) bool { return r.Name == name }) {
					all = append(all, Role{name, "all " + name})
				}
			}
		}
	}
	return all
}

// IsMember reports whether a word names one client, or one node of a service.
func IsMember(word string, services []*service.Service) bool {
	p := history.ParseParty(word)
	if p.Number < 1 || p.String() != word {
		return false // numbers are 1 or more, without leading zeros
	}
	return p.IsClient() || slices.ContainsFunc(services, func(s *service.Service) bool {
		return slices.ContainsFunc(s.Topologies, func(t service.Topology) bool { return len(t.InPart(p.Kind)) > 0 })
	})
}

// clientRoles are the roles that name clients and not servers.
var clientRoles = []string{"holder", "a waiter", "clients", "half the clients"}

// Ends returns the roles of a target: "a replica and the sentinel-1" has two.
func Ends(target string) []string {
	ends := strings.Split(target, " and ")
	for i, end := range ends {
		ends[i] = strings.TrimPrefix(strings.TrimSpace(end), "the ")
	}
	return ends
}

// ofClients reports whether a target consists of clients.
func ofClients(target string) bool {
	return !slices.ContainsFunc(Ends(target), func(end string) bool {
		return !slices.Contains(clientRoles, end) && !history.ParseParty(end).IsClient()
	})
}

// canonical accepts "the holder" for "holder".
func canonical(target string) string { return strings.Join(Ends(target), " and ") }

// roleAvailable returns nil, or the reason why the cluster has no node or client in the role.
func roleAvailable(target string, c service.Group) error {
	for _, end := range Ends(target) {
		if err := endAvailable(end, c); err != nil {
			return err
		}
	}
	return nil
}

// targetAvailable also requires a cluster that can do something to the target's nodes.
func targetAvailable(target string, c world.Sketch, kind world.ActionKind) error {
	if err := roleAvailable(target, c); err != nil || ofClients(target) {
		return err
	}
	return lacks(c, world.Action{Kind: kind})
}

func endAvailable(target string, c service.Group) error {
	if ofClients(target) {
		return nil
	}
	if len(c.Nodes()) == 0 {
		return errors.New("no servers")
	}
	switch target {
	case "replicas", "a replica", "nearest replica":
		if !c.Topology().Follows() {
			return errors.New("no replicas")
		}
		if target == "nearest replica" && c.Abilities().Offsets == nil {
			return errNotTold
		}
	case "minority":
		if c.Topology().Leads != service.EachLeads {
			return errors.New("no majority to be had: one master decides")
		}
		if n := len(dataNodes(c)); n < 3 {
			return fmt.Errorf("no minority: of %d masters none can be missing", n)
		}
	case "master", "majority", "nodes":
	default:
		known := slices.ContainsFunc(c.Nodes(), func(n service.Node) bool { return n.Name == target })
		switch {
		case known || len(partNodes(c, target)) > 0:
		case strings.HasSuffix(target, "s"):
			return fmt.Errorf("no %s", target)
		default:
			return fmt.Errorf("no node %s here", target)
		}
	}
	return nil
}

// resolve returns the nodes or clients of a target, at least one: a fault without targets would
// look like one that the lock withstood.
func resolve(ctx context.Context, target string, s Scene) ([]string, error) {
	var all []string
	for _, end := range Ends(target) {
		names, err := named(ctx, end, s)
		if err == nil && len(names) == 0 {
			err = fmt.Errorf("no node or client is %s now", end)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all, nil
}

// injectTargets injects a fault into nodes or clients.
type injectTargets func(ctx context.Context, s Scene, targets []string) (Undo, error)

// onTargets returns an injection that resolves the target first.
func onTargets(target string, inject injectTargets) func(context.Context, Scene) (Undo, error) {
	return func(ctx context.Context, s Scene) (Undo, error) {
		targets, err := resolve(ctx, target, s)
		if err != nil {
			return nil, err
		}
		return inject(ctx, s, targets)
	}
}

func named(ctx context.Context, target string, s Scene) ([]string, error) {
	switch target {
	case "master":
		return master(ctx, s)
	case "replicas", "a replica", "nearest replica":
		others, err := replicas(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("find the replicas: %w", err)
		}
		switch target {
		case "a replica":
			return pick(s, others, 1), nil
		case "nearest replica":
			return nearest(ctx, s, others)
		}
		return others, nil
	case "minority":
		n := len(dataNodes(s.Cluster))
		return pick(s, granting(s), (n-1)/2), nil
	case "majority":
		if s.Cluster.Topology().Leads != service.EachLeads {
			return master(ctx, s)
		}
		return pick(s, granting(s), len(dataNodes(s.Cluster))/2+1), nil
	case "nodes":
		return append(dataNodes(s.Cluster), nodesOf(s.Cluster, service.Witness)...), nil
	case "holder", "a waiter", "clients", "half the clients":
		ids, err := clients(target, s)
		var names []string
		for _, id := range ids {
			names = append(names, history.ClientParty(id).String())
		}
		return names, err
	}
	if nodes := partNodes(s.Cluster, target); len(nodes) > 0 {
		return nodes, nil
	}
	return []string{target}, nil
}

// partNodes returns the nodes of a part of the topology, by its name and an s: "sentinels".
func partNodes(c service.Group, target string) []string {
	part, plural := strings.CutSuffix(target, "s")
	if !plural {
		return nil
	}
	var names []string
	for _, n := range c.Topology().InPart(part) {
		names = append(names, n.Name)
	}
	return names
}

// errNotTold is returned if the servers do not report how far replicas are.
var errNotTold = errors.New("these servers do not tell how far a replica is")

// nearest returns the replica that has received the most from its master, a drawn one of equals.
func nearest(ctx context.Context, s Scene, replicas []string) ([]string, error) {
	offsetsOf := s.Cluster.Abilities().Offsets
	if offsetsOf == nil {
		return nil, errNotTold
	}
	offsets := offsetsOf(ctx)
	most := int64(-1)
	var best []string
	for _, name := range replicas {
		switch at, answers := offsets[name]; {
		case !answers || at < most:
		case at == most:
			best = append(best, name)
		default:
			most, best = at, []string{name}
		}
	}
	return pick(s, best, 1), nil
}

func master(ctx context.Context, s Scene) ([]string, error) {
	if s.Cluster.Topology().Leads == service.EachLeads {
		return pick(s, granting(s), 1), nil
	}
	m, err := oneMaster(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("find the master: %w", err)
	}
	return []string{m}, nil
}

// holder returns the hold that a step is about: the one whose event triggered it, else the
// oldest one. A waiting client holds nothing; then it is the hold of the lock that it waits for.
func holder(s Scene) (workloads.Moment, bool) {
	if s.Moment != nil && s.Moment.Event != workloads.Waiting {
		return *s.Moment, true
	}
	holders := s.Crew.Holders()
	if s.Moment != nil {
		if i := slices.IndexFunc(holders, func(h workloads.Moment) bool { return h.Key == s.Moment.Key }); i >= 0 {
			return holders[i], true
		}
	}
	if len(holders) == 0 {
		return workloads.Moment{}, false
	}
	return holders[0], true
}

// granting returns the servers that granted the holder's lock, followed by the others, both in a
// drawn order. A fault on more nodes than have granted takes some of the others.
func granting(s Scene) []string {
	h, _ := holder(s)
	granted := slices.Clone(h.Nodes)
	rest := slices.DeleteFunc(dataNodes(s.Cluster), func(n string) bool { return slices.Contains(granted, n) })
	s.Rand.Shuffle(len(granted), func(i, j int) { granted[i], granted[j] = granted[j], granted[i] })
	s.Rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return append(granted, rest...)
}

// pick takes the first n of names that granting has ordered, or a drawn one of equals.
func pick(s Scene, names []string, n int) []string {
	if n == 1 && len(names) > 1 && s.Cluster.Topology().Leads != service.EachLeads {
		return []string{names[s.Rand.IntN(len(names))]}
	}
	return names[:min(n, len(names))]
}

func clients(target string, s Scene) ([]int, error) {
	all := slices.Clone(s.Crew.Clients())
	switch target {
	case "holder":
		if h, ok := holder(s); ok {
			return []int{h.Client}, nil
		}
		return nil, errors.New("no client holds a lock now")
	case "a waiter":
		if s.Moment != nil && s.Moment.Event == workloads.Waiting {
			return []int{s.Moment.Client}, nil
		}
		if waiters := s.Crew.Waiters(); len(waiters) > 0 {
			return []int{waiters[s.Rand.IntN(len(waiters))]}, nil
		}
		return nil, errors.New("no client waits for a lock now")
	case "half the clients":
		s.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if h, ok := holder(s); ok {
			all = append([]int{h.Client}, slices.DeleteFunc(all, func(id int) bool { return id == h.Client })...)
		}
		half := all[:(len(all)+1)/2]
		slices.Sort(half)
		return half, nil
	}
	return all, nil
}

func dataNodes(c service.Group) []string { return nodesOf(c, service.Data) }

func nodesOf(c service.Group, kind service.Role) []string {
	var names []string
	for _, n := range c.Nodes() {
		if n.Role == kind {
			names = append(names, n.Name)
		}
	}
	return names
}
