package scenarios

import (
	"fmt"
	"testing"

	"lockbench/internal/service/etcd"
	"lockbench/locks"
)

// A topology for the first service applies to other services that the scenario does not name: with followers if it has
// some.
func TestServiceOfWhichNothingIsSaid(t *testing.T) {
	for said, want := range map[string]locks.Topology{
		"":                                  locks.Single,
		"topology: {single-store: single}":  locks.Single,
		"topology: {majority: independent}": locks.Single,
		"topology: {single-store: sentinel, majority: {independent: 3}}":   etcd.Quorum,
		"topology: {single-store: cluster}":                                etcd.Quorum,
		"servers: {redis: {topology: replicated}}":                         etcd.Quorum,
		"servers: {redis: {topology: sentinel}, etcd: {topology: single}}": locks.Single,
		"servers: {etcd: {topology: quorum}}":                              etcd.Quorum,
	} {
		text := fmt.Sprintf("lockbench: scenario/1\nabout: a test\nlocks: [etcd-mutex]\n%s\nworkload: {counter: {ttl: 2s}}\nfaults: none\n", said)
		s, err := Read("test.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", said, err)
			continue
		}
		if got := s.On(etcd.Name).Topology.SingleStore; got != want {
			t.Errorf("%s: etcd is %s, want %s", said, got, want)
		}
	}
}
