package catalog_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	services "lockbench/internal/service/catalog"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/locks/locktest"
)

func TestEntriesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range catalog.All() {
		if !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(l.Name) || seen[l.Name] {
			t.Errorf("name %q is odd or stands twice", l.Name)
		}
		seen[l.Name] = true
		if l.About == "" || strings.Contains(l.About, "\n") || len(l.About) > 120 {
			t.Errorf("%s: the line about it is %q", l.Name, l.About)
		}
		if !slices.Contains([]locks.Family{locks.Control, locks.SingleStore, locks.Majority}, l.Family) {
			t.Errorf("%s: family %q", l.Name, l.Family)
		}
		if len(l.Topologies) == 0 {
			t.Errorf("%s: no topologies", l.Name)
		}
		if len(l.Model) > 0 && l.Name != "no-lock" {
			t.Errorf("%s: model %v; it follows from the claims %+v", l.Name, l.Model, l.Claims)
		}
		// A stock library is opened by another program, and its words are checked here.
		refused := func(err error) bool { return err != nil && (l.Library == nil || !errors.Is(err, locks.ErrUnsupported)) }
		if _, known := catalog.Find(l.Like); l.Like != "" && !known {
			t.Errorf("%s is to be like %q, and there is no such lock", l.Name, l.Like)
		} else if other, _ := catalog.Find(l.Like); other.Like == l.Name {
			t.Errorf("%s and %s are like each other", l.Name, l.Like)
		}
		if opener, err := l.New(nil); refused(err) || opener == nil && l.Library == nil {
			t.Errorf("%s: New without options: %v", l.Name, err)
		}
		if _, ok := catalog.Find(l.StandIn); l.StandIn != "" && !ok {
			t.Errorf("%s: %q stands for it, and is not a lock", l.Name, l.StandIn)
		}
		for rule := range l.Excused {
			if !slices.ContainsFunc(locktest.Rules(), func(r locktest.Rule) bool { return r.Name == rule }) {
				t.Errorf("%s is excused from %q, and there is no such rule", l.Name, rule)
			}
		}
		defaults, conform := map[string]string{}, l.Conform()
		for _, o := range l.Options() {
			if o.About == "" || o.Default == "" {
				t.Errorf("%s: option %s lacks its line or its default", l.Name, o.Name)
			}
			defaults[o.Name] = o.Default
		}
		if _, err := l.New(defaults); refused(err) {
			t.Errorf("%s: its own defaults are refused: %v", l.Name, err)
		}
		if _, err := l.New(conform); refused(err) {
			t.Errorf("%s: what it is put through the suite with is refused: %v", l.Name, err)
		}
		if found, ok := catalog.Find(l.Name); !ok || found.Name != l.Name {
			t.Errorf("%s is not found", l.Name)
		}
	}
}

// A lock whose clients must be processes is refused where they share one.
func TestOpenAmongGoroutines(t *testing.T) {
	for _, l := range catalog.All() {
		if l.Library != nil {
			continue
		}
		_, err := catalog.Open(l.Name, nil)
		if refused := errors.Is(err, locks.ErrUnsupported); refused != (l.StandIn != "") {
			t.Errorf("%s: %v", l.Name, err)
		}
	}
}

// Each New is a run of its own: in-process locks of two runs must not meet.
func TestInProcessRunsAreApart(t *testing.T) {
	entry, _ := catalog.Find("in-process")
	for range 2 {
		opener, err := entry.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := opener(t.Context(), locks.Client{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Acquire(t.Context(), locks.Request{Keys: []string{"a"}}); err != nil {
			t.Errorf("acquire in a run of its own: %v", err)
		}
	}
}

func TestErrorsNameWhatIsKnown(t *testing.T) {
	for _, test := range []struct {
		lock    string
		options map[string]string
		want    string
	}{
		{"redlock", map[string]string{"drfit": "0.1"}, `redlock has no option "drfit"; did you mean "drift"?`},
		{"redlock", map[string]string{"colour": "red"}, `redlock has no option "colour"; known are drift, node-timeout`},
		{"set-nx", map[string]string{"nodes": "3"}, `set-nx has no option "nodes"; there are none`},
		{"redisson-port", map[string]string{"retries": "none"}, `option retries of redisson-port: "none" is not a whole number from 0 to 1000`},
		{"redlock", map[string]string{"drift": "2"}, `option drift of redlock: "2" is not a share between 0 and 1, such as 0.01`},
		{"redlock", map[string]string{"drift": "NaN"}, `option drift of redlock: "NaN" is not a share between 0 and 1, such as 0.01`},
		{"redlock", map[string]string{"node-timeout": "50"}, `option node-timeout of redlock: "50" is not a duration such as 500ms or 5s, from 1µs to 24h0m0s, or auto`},
		{"redlock", map[string]string{"node-timeout": "25h"}, `option node-timeout of redlock: "25h" is not a duration such as 500ms or 5s, from 1µs to 24h0m0s, or auto`},
		{"redisson-port", map[string]string{"notify": "no"}, `option notify of redisson-port: "no" is not on or off`},
		{"redisson-port-fair", map[string]string{"form": "F9"}, `option form of redisson-port-fair: "F9" is not F4 or F3`},
		{"redisson-spin", map[string]string{"version": "3.13.6"}, `redisson-spin: Redisson 3.13.6 has no SpinLock; take version=4.7.0 or 3.15.6`},
		{"redisson", map[string]string{"version": "3.13.6", "sync-timeout": "1s"}, `option sync-timeout of redisson: Redisson 3.13.6 does not have it; it is of version 4.7.0`},
		{"redislock", map[string]string{"careful": "yes"}, `option careful of redislock: "yes" is not off or on`},
		{"kazoo", map[string]string{"session": "1.5s"}, `option session of kazoo: "1.5s" is not a duration such as 500ms or 5s, from 10ms to 24h0m0s`},
	} {
		entry, _ := catalog.Find(test.lock)
		if _, err := entry.New(test.options); err == nil || err.Error() != test.want {
			t.Errorf("%s %v:\n got %v\nwant %s", test.lock, test.options, err, test.want)
		}
	}
	if err := catalog.NotFound("setnx"); !strings.HasSuffix(err.Error(), `did you mean "set-nx"?`) {
		t.Errorf("got %v, want a hint at set-nx", err)
	}
	if err := catalog.NotFound("zookeeper"); strings.Contains(err.Error(), "did you mean") {
		t.Errorf("got %v, want no hint", err)
	}
	if _, ok := catalog.Find("zookeeper"); ok {
		t.Error("found a lock that does not exist")
	}
}

// Each topology of each service has one plain lock.
func TestPlainLocks(t *testing.T) {
	for _, s := range services.All() {
		for _, on := range s.Topologies {
			var with []string
			for _, l := range catalog.All() {
				if l.Plain && l.Service == s.Name && slices.Contains(l.Topologies, on.Name) {
					with = append(with, l.Name)
				}
			}
			if len(with) != 1 {
				t.Errorf("%s of %s: the plain locks are %v, want one", on.Name, s.Name, with)
			}
		}
	}
}
