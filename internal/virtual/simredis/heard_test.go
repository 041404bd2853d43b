package simredis

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/testing/worldtest"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/locks/locktest"
)

// The conformance files contain every command, with its options, and every script that the locks of the catalog send during
// the conformance suite for locks. So a new lock cannot be forgotten.
func TestEverythingHeardIsCompared(t *testing.T) {
	if !worldtest.IsAlone(t) {
		t.Parallel() // the test runs in its own process
	}
	worldtest.Alone(t, func() {
		tried := map[string]bool{}
		for line := range strings.Lines(conformanceText(t)) {
			if _, command, ok := prompt(line); ok {
				all := words(t, command)
				tried[shape(all[0], all[1:])] = true
			}
		}
		heard := map[string]string{} // by command: the lock that sent it
		// All locks share a bubble, because go-redis keeps timers that no other bubble may use.
		synctest.Test(t, func(t *testing.T) {
			for _, entry := range catalog.All() {
				if entry.Service != "" && entry.Service != redis.Name || entry.Library != nil {
					continue
				}
				for _, options := range append(heardOptions[entry.Name], nil) {
					if err := listen(t, entry, options, heard); err != nil {
						t.Errorf("%s %v: %v", entry.Name, options, err)
					}
				}
			}
		})
		for _, what := range slices.Sorted(maps.Keys(heard)) {
			if !tried[what] {
				t.Errorf("%s sends %q, which %s and the files of this name next to locks do not try", heard[what], what, conformanceFile)
			}
		}
		if len(heard) < 25 {
			t.Errorf("only %d different things were heard; the suite has asked for too little to prove anything", len(heard))
		}
		for _, file := range scriptFiles(t) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if what := shape("EVAL", []string{string(text)}); heard[what] == "" && !unasked(file) {
				t.Errorf("%s was not sent by any lock", file)
			}
		}
	})
}

// unasked are scripts that no lock sends during the suite, and the scripts of mutants, which do not run the suite. Only
// their own conformance files compare them.
func unasked(file string) bool {
	return strings.Contains(file, "/mutants/") || strings.HasSuffix(file, "renew_read.lua")
}

// heardOptions are options with which a lock sends other commands than by default.
var heardOptions = map[string][]map[string]string{
	"redisson-port":      {{"latch": "off"}},
	"redisson-port-fair": {{"form": "F3"}},
}

// listen runs the suite on a lock and adds the commands that its servers got.
func listen(t *testing.T, entry catalog.Lock, options map[string]string, heard map[string]string) error {
	topology := entry.Topologies[0]
	if topology == locks.None {
		return nil
	}
	opener, err := entry.New(options)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	model := Model{heard: func(name string, args []string) {
		mu.Lock()
		defer mu.Unlock()
		heard[shape(name, args)] = entry.Name
	}}
	return inside(t, model, redistest.Spec(topology, world.Spec{}), func(ctx context.Context, c *trial) error {
		locktest.Run(ctx, locktest.Subject{
			Card:    entry.Card,
			Excused: map[string]string{"in-turn": "a hundred that poll say nothing that others do not say, and take half of the time"},
			Open: func(ctx context.Context, id int) (locks.Locker, error) {
				var at locks.Client
				client, err := c.Open(ctx, world.ClientSpec{ID: id, Seed: 1, Opener: func(_ context.Context, known locks.Client) (locks.Locker, error) {
					at = known
					return unopened{}, nil
				}})
				if err != nil {
					return nil, err
				}
				c.servers.foreign.Store(false) // restrict the scripts to the compared ones
				l, err := opener(ctx, at)
				return heardLocker{l, client}, err
			},
		})
		return nil
	})
}

// heardLocker closes its client together with the lock.
type heardLocker struct {
	locks.Locker
	client world.Client
}

func (l heardLocker) Close() error {
	return errors.Join(l.Locker.Close(), l.client.Close(context.Background()))
}

// optionWords are words that change the effect of a command.
var optionWords = strings.Fields("NX XX GT LT CH INCR GET KEEPTTL EX PX EXAT PXAT WITHSCORES LIMIT REV BYSCORE BYLEX COUNT " +
	"LOAD EXISTS FLUSH SETNAME SETINFO GETNAME LEFT RIGHT ASYNC SYNC")

// shape returns a command without its values: the name with options, or the digest of the script.
func shape(name string, args []string) string {
	name = strings.ToUpper(name)
	switch {
	case name == "EVAL" && len(args) > 0:
		return "script " + digest(args[0])
	case name == "EVALSHA" && len(args) > 0:
		return "script " + args[0]
	}
	parts := []string{name}
	for i, arg := range args {
		// A key, and the value of SET, may be any word.
		if word := strings.ToUpper(arg); slices.Contains(optionWords, word) && (i > 1 || name == "SCRIPT" || name == "CLIENT") {
			parts = append(parts, word)
		}
	}
	return strings.Join(parts, " ")
}

// scriptFiles returns all scripts of the project's locks.
func scriptFiles(t *testing.T) []string {
	files, err := filepath.Glob("../../../locks/*/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return files
}

// A script that was never compared is refused and ends the run with an error, also
// before the run's own end.
func TestUnknownScriptIsLoud(t *testing.T) {
	err := run(t, Model{}, redistest.Spec(locks.Single, world.Spec{}), func(ctx context.Context, c *trial) error {
		w := talk(t, c, 1).to(c.servers.data[0].addr)
		c.servers.foreign.Store(false)
		if _, err := w.Write([]byte(proto.Strings("EVAL", "return 1", "0"))); err != nil {
			return err
		}
		if got := w.hear(); got != "-ERR the simulation does not know this script" {
			t.Errorf("answered %q", got)
		}
		<-ctx.Done()
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "never compared") {
		t.Errorf("the run ended with %v", err)
	}
}
