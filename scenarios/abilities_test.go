package scenarios

import (
	"strings"
	"testing"
)

// Locks that cannot take part are reported before the run, at their place, with the locks that can.
func TestUnfitLocksAreRefused(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"locks: [no-lock, set-nx]\nworkload: {reentrant: {ttl: 8s}}\n",
			"x.yaml:2:18: set-nx cannot take part: the workload reentrant needs re-entry: the same owner takes the lock again, and this lock does not offer that; of its family these can: redisson-port,"},
		{"locks: [redlock]\nworkload: {counter: {wait: 1s}}\n", "redlock cannot take part: the workload counter needs requests that wait"},
		{"locks: [flock, set-nx]\nworkload: {counter: {ttl: 0s}}\n", "x.yaml:2:16: set-nx cannot take part: the workload counter needs a lease without a ttl"},
		{"locks: [set-del]\ntopology: {single-store: cluster}\n", "set-del cannot take part: the scenario puts it on cluster, and it runs on single, replicated, sentinel; of its family these can: set-nx,"},
		{"locks: [redisson-port]\nworkload: {handoff: {ttl: 8s}}\n", "the workload handoff cannot work with this wait: clients that do not wait never queue; say how long"},
		{"locks: [redisson-port]\nworkload: {watchdog: {ttl: 8s}}\n", "x.yaml:3:28: the workload watchdog cannot work with this ttl"},
		{"locks: [redisson-port-multi]\nworkload: {many-keys: {keys: 2}}\n", "x.yaml:3:30: the workload many-keys cannot work with this keys: sets of 2 out of 2"},
	} {
		_, err := Read("x.yaml", []byte("lockbench: scenario/1\n"+test.source+"faults: none\n"))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\ngot  %v\nwant %s", test.source, err, test.want)
		}
	}
}
