// The master of a lock's key is killed, and its replica takes over. Another client of go-redis that starts then gets the lock.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const wait = 8 * time.Second

var ctx = context.Background()

func main() {
	ports := os.Args[1:4]
	var nodes []*redis.Client
	for _, port := range ports {
		nodes = append(nodes, redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, MaxRetries: -1}))
	}
	first, second, replica := nodes[0], nodes[1], nodes[2]
	process, err := strconv.Atoi(os.Args[4])
	check(err)

	check(first.ClusterAddSlotsRange(ctx, 0, 16382).Err())
	check(second.ClusterAddSlotsRange(ctx, 16383, 16383).Err())
	for _, port := range ports[1:] {
		check(first.ClusterMeet(ctx, "127.0.0.1", port).Err())
	}
	id, err := first.ClusterMyID(ctx).Result()
	check(err)
	until("the replica knows its master", func() bool { return replica.ClusterReplicate(ctx, id).Err() == nil })
	until("the cluster is complete", func() bool {
		for _, n := range nodes {
			info, _ := n.ClusterInfo(ctx).Result()
			shards, _ := n.ClusterSlots(ctx).Result()
			if !strings.Contains(info, "cluster_state:ok") || len(shards) != 2 || len(shards[0].Nodes) != 2 {
				return false
			}
		}
		info, _ := replica.Info(ctx, "replication").Result()
		return strings.Contains(info, "master_link_status:up")
	})

	old := clusterClient(ports)
	check(old.SetNX(ctx, "lock", "1", time.Minute).Err())
	check(old.Del(ctx, "lock").Err())

	check(syscall.Kill(process, syscall.SIGKILL))
	check(replica.Do(ctx, "cluster", "failover", "takeover").Err())
	until("the replica has taken over", func() bool {
		shards, _ := second.ClusterSlots(ctx).Result()
		for _, s := range shards {
			if s.Start == 0 {
				return strings.HasSuffix(s.Nodes[0].Addr, ":"+ports[2])
			}
		}
		return false
	})
	began := time.Now()
	check(clusterClient(ports).SetNX(ctx, "fresh", "1", time.Minute).Err())
	fmt.Printf("the replica has taken over; a client that starts now gets a lock after %d ms\n", time.Since(began).Milliseconds())

	began = time.Now()
	tries := 0
	for time.Since(began) < wait {
		tries++
		err = old.SetNX(ctx, "lock", "1", time.Minute).Err()
		if err == nil {
			end("gone: the client that was there before gets a lock after %d ms, in call %d", time.Since(began).Milliseconds(), tries)
		}
	}
	fmt.Printf("call %d of the client that was there before: %v\n", tries, err)
	end("exists: the client that was there before got no lock in %v and %d calls, because it asks the dead master", wait, tries)
}

func clusterClient(ports []string) *redis.ClusterClient {
	var addresses []string
	for _, port := range ports {
		addresses = append(addresses, "127.0.0.1:"+port)
	}
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses})
}

func until(what string, done func() bool) {
	for began := time.Now(); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			end("could not try: after 30 s it does not hold that %s", what)
		}
	}
}

func check(err error) {
	if err != nil {
		end("could not try: %v", err)
	}
}

func end(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
	os.Exit(0)
}
