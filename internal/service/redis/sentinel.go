package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/service"
	"lockbench/locks"
)

// watched is a master with replicas, and sentinels that watch it and promote a replica.
type watched struct {
	*nodes
	master string // its name for the sentinels
}

// Abilities returns what these servers can do.
func (g *watched) Abilities() service.Abilities {
	can := g.abilities(func(ctx context.Context, _ string) (string, error) { return g.Leader(ctx) })
	can.Promote = func(ctx context.Context, node string) (string, error) {
		master, _ := g.Leader(ctx) // without a master, any replica can be one
		return g.promote(ctx, master, node, g.failOver)
	}
	return can
}

// Params returns the parameters of clients of sentinels.
func (g *watched) Params() map[string]string { return map[string]string{locks.MasterName: g.master} }

// Form joins new servers to a cluster.
func (g *watched) Form(ctx context.Context) error {
	sentinels := g.inRole(service.Witness)
	if err := service.Each(sentinels, func(n service.Node) error { return g.pace(ctx, n.Name, hurried) }); err != nil {
		return err
	}
	if err := service.AwaitHealthy(ctx, g); err != nil {
		return err
	}
	return service.Each(sentinels, func(n service.Node) error { return g.pace(ctx, n.Name, steady) })
}

// Started sets the settings that a sentinel loses at its end.
func (g *watched) Started(ctx context.Context, node string) error {
	if slices.ContainsFunc(g.inRole(service.Witness), func(n service.Node) bool { return n.Name == node }) {
		return g.pace(ctx, node, steady)
	}
	return nil
}

// Periods at which sentinels announce their view.
const (
	hurried = "100" // ms: while a cluster forms
	steady  = "500" // ms: while it is tested
)

// paceRetry is how long pace waits before it asks a sentinel again.
const paceRetry = 50 * time.Millisecond

// pace shortens the periods of a sentinel, because a run would mostly wait for the defaults: ten
// seconds between checks of the roles, two between announcements, one until it reconnects. The last
// exceeds the time after which a server counts as dead, so a server that was only reconfigured would
// count as dead. The settings that decide elections stay.
//
// The period of announcements has a lower bound: a sentinel that sees a second master demotes it after
// four announcements without news of a failover, while the sentinel that leads the failover checks the
// promoted server once a second at any setting. With 100 ms, all promotions while the old master lives
// would be undone.
//
// So has the period of pings: a sentinel queries the replicas of a dead master once a second at any
// setting, and does not promote a replica whose last answer is older than five pings. With a ping
// every 100 ms the only replica left was refused every second time ("no good slave"), and the next
// attempt came four seconds later.
func (g *watched) pace(ctx context.Context, sentinel, publish string) error {
	for {
		err := g.order(ctx, sentinel, "SENTINEL", "DEBUG", "info-period", "100", "ping-period", "300", "publish-period", publish,
			// A sentinel that was not scheduled for two seconds mistrusts its clock and does nothing
			// for this time. The default is half a minute, but here the usual cause is a busy machine,
			// not a broken clock.
			"tilt-period", "1000")
		if err == nil {
			return nil
		}
		// On a busy machine the answer may come too late. Repeating the command is harmless.
		select {
		case <-ctx.Done():
			return fmt.Errorf("set the pace: %w", err)
		case <-time.After(paceRetry):
		}
	}
}

// Healthy returns the first defect of the servers.
func (g *watched) Healthy(ctx context.Context) error {
	master, err := g.oneMaster(ctx)
	if err != nil {
		return err
	}
	if err := g.allFollow(ctx, master); err != nil {
		return err
	}
	return service.Each(g.inRole(service.Witness), func(n service.Node) error { return g.watches(ctx, n.Name, master) })
}

// watches checks that a sentinel sees the whole cluster, and no node as defective.
func (g *watched) watches(ctx context.Context, sentinel, master string) error {
	name, err := g.masterOf(ctx, sentinel)
	if err != nil {
		return err
	}
	if name != master {
		return fmt.Errorf("%s takes %s for the master, not %s", sentinel, name, master)
	}
	reply, err := g.ask(ctx, sentinel, "SENTINEL", "MASTER", g.master)
	if err != nil {
		return err
	}
	if flags := pairs(reply)["flags"]; flags != "master" {
		return fmt.Errorf("%s sees the master as %s", sentinel, flags)
	}
	if err := g.sees(ctx, sentinel, "REPLICAS", "slave", len(g.inRole(service.Data))-1); err != nil {
		return err
	}
	return g.sees(ctx, sentinel, "SENTINELS", "sentinel", len(g.inRole(service.Witness))-1)
}

// sees checks that a sentinel knows the given number of other nodes of a kind, and none as defective.
func (g *watched) sees(ctx context.Context, sentinel, what, flags string, count int) error {
	others, err := g.seen(ctx, sentinel, what)
	if err != nil {
		return err
	}
	if len(others) != count {
		return fmt.Errorf("%s sees %d %s, not %d", sentinel, len(others), strings.ToLower(what), count)
	}
	for _, other := range others {
		name := g.called(other["ip"], other["port"])
		if name == "" {
			name = other["ip"]
		}
		// A sentinel remembers for five seconds that another took the master for dead, even when they
		// have agreed on a new master since.
		if strings.TrimSuffix(other["flags"], ",master_down") != flags {
			return fmt.Errorf("%s sees %s as %s", sentinel, name, other["flags"])
		}
		if link := other["master-link-status"]; flags == "slave" && link != "ok" {
			return fmt.Errorf("%s sees the link of %s to its master as %s", sentinel, name, link)
		}
	}
	return nil
}

// seen returns the REPLICAS or the SENTINELS that a sentinel knows.
func (g *watched) seen(ctx context.Context, sentinel, what string) ([]map[string]string, error) {
	reply, err := g.ask(ctx, sentinel, "SENTINEL", what, g.master)
	return lists(reply), err
}

// Leader returns the master that a majority of all sentinels name.
func (g *watched) Leader(ctx context.Context) (string, error) {
	sentinels := g.inRole(service.Witness)
	named, err := service.AskAll(ctx, sentinels, g.masterOf)
	votes := map[string]int{}
	for _, name := range named {
		votes[name]++
	}
	if name, ok := service.Majority(votes, len(sentinels)); ok {
		return name, nil
	}
	if err != nil {
		return "", fmt.Errorf("no master is named by a majority of the sentinels: %w", err)
	}
	return "", fmt.Errorf("no master is named by a majority of the sentinels: they say %v", votes)
}

// masterOf returns the master in the view of one sentinel.
func (g *watched) masterOf(ctx context.Context, sentinel string) (string, error) {
	reply, err := g.ask(ctx, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", g.master)
	if err != nil {
		return "", err
	}
	if at := texts(reply); len(at) == 2 {
		if name := g.called(at[0], at[1]); name != "" {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s names a master that is not a node of this cluster: %v", sentinel, reply)
}

// Sentinels silently give up a failover if no replica is suitable, or if they hear too little of each
// other. The order is therefore repeated, and given up in the end, because a run must end.
const (
	OrderEvery    = 5 * time.Second
	FailoverLimit = 45 * time.Second
)

// failOver makes the sentinels fail over, even if the master is healthy.
func (g *watched) failOver(ctx context.Context, chosen string) (string, error) {
	old, err := g.Leader(ctx)
	if err != nil {
		return "", err
	}
	if chosen != "" {
		restore, err := g.prefer(ctx, chosen)
		if err != nil {
			return "", err
		}
		defer restore()
	}
	ctx, cancel := context.WithTimeout(ctx, FailoverLimit)
	defer cancel()
	now := old
	for now == old {
		if err := g.orderFailover(ctx); err != nil {
			return "", err
		}
		if now, err = g.successor(ctx, old); err != nil {
			return "", err
		}
	}
	if chosen != "" && now != chosen {
		return "", fmt.Errorf("the sentinels made %s the master, not %s", now, chosen)
	}
	return now, nil
}

// successor waits for a master other than the old one within the limit of an order. It returns the old
// one if there is none, and an error if ctx ends.
func (g *watched) successor(ctx context.Context, old string) (string, error) {
	now := old
	waiting, cancel := context.WithTimeout(ctx, OrderEvery)
	defer cancel()
	err := service.Poll(waiting, func() error {
		name, err := g.Leader(ctx)
		if err != nil {
			return err
		}
		if name == old {
			return fmt.Errorf("%s is still the master", old)
		}
		now = name
		return nil
	})
	if ctx.Err() != nil {
		return "", err
	}
	return now, nil
}

// orderFailover orders a failover from the first sentinel that can do it.
func (g *watched) orderFailover(ctx context.Context) error {
	var errs []error
	for _, n := range g.inRole(service.Witness) {
		err := g.order(ctx, n.Name, "SENTINEL", "FAILOVER", g.master)
		// INPROG: a failover is under way at this sentinel. An order to another one would start a
		// second failover after it.
		if err == nil || strings.Contains(err.Error(), "INPROG") {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// prefer makes the sentinels choose a replica: they prefer the lowest priority above 0. It waits until
// all running sentinels have seen the change, and returns a function that undoes it.
func (g *watched) prefer(ctx context.Context, chosen string) (restore func(), err error) {
	const name, low, usual = "replica-priority", "1", "100"
	if err := g.order(ctx, chosen, "CONFIG", "SET", name, low); err != nil {
		return nil, err
	}
	restore = func() {
		// The change must be undone even if the caller has given up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = g.order(ctx, chosen, "CONFIG", "SET", name, usual)
	}
	err = service.Each(g.inRole(service.Witness), func(n service.Node) error {
		if !g.Host.Status(n.Name).Running {
			return nil
		}
		return service.Poll(ctx, func() error {
			replicas, err := g.seen(ctx, n.Name, "REPLICAS")
			if err != nil {
				return err
			}
			for _, r := range replicas {
				if g.called(r["ip"], r["port"]) == chosen && r["slave-priority"] == low {
					return nil
				}
			}
			return fmt.Errorf("%s has not seen that %s is preferred", n.Name, chosen)
		})
	})
	if err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}
