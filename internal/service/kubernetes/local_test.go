//go:build linux

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/local"
	"lockbench/locks"
)

// started runs do on a cluster in world local. The program of its nodes is the one that `make kubernetes` builds, or a
// script that gets its path as $PROGRAM.
func started(t *testing.T, limit time.Duration, topology locks.Topology, script string, do func(ctx context.Context, c world.Cluster) error) error {
	t.Helper()
	program, err := filepath.Abs("../../../build/lockbench-kubernetes")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		err = errors.New("no build/lockbench-kubernetes: `make kubernetes` builds it")
	}
	needs.OrSkip(t, "kubernetes", err)
	if script != "" {
		text := fmt.Sprintf("#!/bin/bash\nPROGRAM='%s'\n%s\n", program, script)
		program = filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := local.New(local.Options{Services: []*service.Service{Service}, Programs: map[string]string{Name: program}})
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	of, _ := service.Find(Service, topology)
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errLimit)
	defer cancel()
	return w.Run(ctx, world.Spec{Service: Service, Topology: of, LogDir: t.TempDir()}, do)
}

var errLimit = errors.New("the limit of the test")

// API servers and the leader of etcd come back after they were killed, and a member without its data joins again.
func TestInWorldLocal(t *testing.T) {
	err := started(t, 10*time.Minute, Redundant, "", func(ctx context.Context, c world.Cluster) error {
		leader, err := c.Leader(ctx)
		if err != nil {
			return err
		}
		for _, node := range []string{"apiserver-2", leader} {
			if err := c.Kill(ctx, node); err != nil {
				return err
			}
			if c.Healthy(ctx) == nil {
				t.Errorf("healthy without %s", node)
			}
			if err := c.Start(ctx, node, node != leader); err != nil {
				return err
			}
			if err := service.AwaitHealthy(ctx, c); err != nil {
				return err
			}
		}
		to := c.Topology().InPart("etcd")[2].Name
		if got, err := c.Abilities().Promote(ctx, to); got != to || err != nil {
			t.Errorf("promoted %q, %v; want %s", got, err, to)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A cluster that does not get ready returns the reason, and nothing of it is left.
func TestNotReady(t *testing.T) {
	for name, c := range map[string]struct {
		limit        time.Duration
		script, want string
	}{
		"wrong token": {time.Minute, `[[ $1 == kube-apiserver && $2 != --version ]] && echo 'other,other,1,"system:masters"' >tokens &&
			exec "$PROGRAM" "$@" --token-auth-file=tokens
			exec "$PROGRAM" "$@"`, errToken.Error()},
		"silent": {3 * time.Second, `[[ $1 == kube-apiserver && $2 != --version ]] && echo waits for its turn >&2 && exec sleep 1h
			exec "$PROGRAM" "$@"`, "waits for its turn"},
		"wrong flag": {time.Minute, `[[ $1 == kube-apiserver && $2 != --version ]] && exec "$PROGRAM" "$@" --no-such-flag
			exec "$PROGRAM" "$@"`, "unknown flag: --no-such-flag"},
	} {
		err := started(t, c.limit, locks.Single, c.script, func(context.Context, world.Cluster) error {
			t.Errorf("%s: it is ready", name)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
