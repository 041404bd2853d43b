package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/service"
)

// markerPrefix begins the key that shows whether keys are gone.
const markerPrefix = "lockbench:marker"

// busyShown is how long a server may take to refuse to be busy.
const busyShown = 200 * time.Millisecond

// Flush removes all keys of a server.
func (g *servers) Flush(ctx context.Context, node string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	return forget(ctx, s, "flush", func(string) error { return order(ctx, s, "FLUSHALL", "SYNC") })
}

// Evict makes a server run out of memory for a moment, and allows it to remove keys that have an end.
// During that moment it refuses writes.
func (g *servers) Evict(ctx context.Context, node string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	return forget(ctx, s, "evict", func(marker string) error {
		err := errors.Join(
			order(ctx, s, "CONFIG", "SET", "maxmemory-policy", "volatile-random"),
			order(ctx, s, "CONFIG", "SET", "maxmemory", "1"))
		if err == nil {
			err = service.Poll(ctx, func() error { return gone(ctx, s, marker) })
		}
		// Undo the settings even after an error.
		after := context.WithoutCancel(ctx)
		return errors.Join(err,
			order(after, s, "CONFIG", "SET", "maxmemory", "0"),
			order(after, s, "CONFIG", "SET", "maxmemory-policy", "noeviction"))
	})
}

// forget sets a marker, calls do, and checks that the marker is gone.
func forget(ctx context.Context, s *server, what string, do func(marker string) error) error {
	marker, err := s.marker(ctx)
	if err == nil {
		err = order(ctx, s, "SET", marker, "1", "PX", "600000")
	}
	if err == nil {
		err = do(marker)
	}
	if err == nil {
		err = gone(ctx, s, marker)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, s.Name, err)
	}
	return nil
}

// marker returns the name of a key that the server holds itself. A node of a cluster redirects
// requests for keys in the slots of other nodes, so the key carries a hash tag of one of the node's
// own slots.
func (s *server) marker(ctx context.Context) (string, error) {
	if !s.group.is(Cluster) {
		return markerPrefix, nil
	}
	members, err := s.group.members(ctx, s)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(members, func(m member) bool { return m.is("myself") })
	if i < 0 || members[i].master != "" || len(members[i].slots) == 0 {
		return "", errors.New("it keeps no slots of its own, because it follows another node; name a leader")
	}
	// The tags spread over all slots evenly, so that there is a tag even for a node with one slot.
	for tag := range 100 * Slots {
		if key := fmt.Sprintf("%s:{%d}", markerPrefix, tag); members[i].has(Slot(key)) {
			return key, nil
		}
	}
	return "", fmt.Errorf("no key leads to the slots %v", members[i].slots)
}

func gone(ctx context.Context, s *server, marker string) error {
	reply, err := s.Ask(ctx, "EXISTS", marker)
	if err == nil && reply != int64(0) {
		err = fmt.Errorf("the key %s should be gone and is still there (EXISTS: %v)", marker, reply)
	}
	return err
}

// Poison replaces a key by a list.
func (g *servers) Poison(ctx context.Context, node, key string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	// In one script, because a client might take the lock between two commands.
	const script = "redis.call('del', KEYS[1]) return redis.call('rpush', KEYS[1], 'poison')"
	if err := order(ctx, s, "EVAL", script, "1", g.prefix+key); err != nil {
		return fmt.Errorf("put a list in the place of %s at %s: %w", key, node, err)
	}
	return nil
}

// Cure removes the list.
func (g *servers) Cure(ctx context.Context, node, key string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	const script = "if redis.call('type', KEYS[1]).ok == 'list' then return redis.call('del', KEYS[1]) end return 0"
	if err := order(ctx, s, "EVAL", script, "1", g.prefix+key); err != nil {
		return fmt.Errorf("take the list %s away from %s: %w", key, node, err)
	}
	return nil
}

// Busy makes a server sleep.
func (g *servers) Busy(ctx context.Context, node string, d time.Duration) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	refused := make(chan error, 1)
	go func() {
		// The answer comes when the sleep is over, and lockbench does not wait for it.
		err := order(context.WithoutCancel(ctx), s, "DEBUG", "SLEEP", strconv.FormatFloat(d.Seconds(), 'f', 3, 64))
		var said serverError
		if errors.As(err, &said) {
			refused <- err
		}
	}()
	select {
	case err := <-refused:
		return fmt.Errorf("keep %s busy: %w", node, err)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(busyShown, d/2)):
		return nil
	}
}

// DropSubscribers ends the connections of clients that listen for messages.
func (g *servers) DropSubscribers(ctx context.Context, node string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	if err := order(ctx, s, "CLIENT", "KILL", "TYPE", "pubsub"); err != nil {
		return fmt.Errorf("end the subscriptions at %s: %w", node, err)
	}
	return nil
}

// order sends a command and ignores its answer.
func order(ctx context.Context, s *server, command ...string) error {
	_, err := s.Ask(ctx, command...)
	return err
}

// ClockOffset returns by how much the clock of a server is wrong.
func (g *servers) ClockOffset(ctx context.Context, node string) (time.Duration, error) {
	s, err := g.server(node)
	if err != nil {
		return 0, err
	}
	before := time.Now()
	reply, err := s.Ask(ctx, "TIME")
	if err != nil {
		return 0, err
	}
	middle := before.Add(time.Since(before) / 2)
	said := texts(reply)
	if len(said) != 2 {
		return 0, fmt.Errorf("%s: TIME was answered with %v", node, reply)
	}
	seconds, err1 := strconv.ParseInt(said[0], 10, 64)
	micros, err2 := strconv.ParseInt(said[1], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("%s: TIME was answered with %v: %w", node, reply, err)
	}
	return time.Unix(seconds, micros*1000).Sub(middle), nil
}

// Identity returns the random ID that a server draws at its start.
func (g *servers) Identity(ctx context.Context, c net.Conn) (string, error) {
	info, err := askOn(ctx, c, "INFO", "server")
	if err != nil {
		return "", err
	}
	_, after, _ := strings.Cut(fmt.Sprint(info), "run_id:")
	id, _, _ := strings.Cut(after, "\r")
	return id, nil
}
