package scenarios

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const serversHead = `lockbench: scenario/1
about: servers by name
locks: [no-lock, set-nx]
faults: none
`

// The key `servers` and its short forms have the same meaning.
func TestServersAndTheirShortForms(t *testing.T) {
	read := func(text string) map[string]Servers {
		t.Helper()
		s, err := Read("s.yaml", []byte(serversHead+text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Servers
	}
	short := read("topology: {single-store: sentinel, majority: {independent: 3}}\nredis: {appendonly: yes}\n")
	long := read("servers: {redis: {topology: {single-store: sentinel, majority: {independent: 3}}, settings: {appendonly: yes}}}\n")
	if diff := cmp.Diff(short, long); diff != "" {
		t.Errorf("(-short +long):\n%s", diff)
	}
	one := read("servers: {redis: {topology: sentinel}}\n")
	if got := one["redis"].Topology; got.SingleStore != "sentinel" || got.Majority != "independent" || got.Masters != DefaultMasters {
		t.Errorf("one word for the topology: %+v", got)
	}
}

func TestServersThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"servers: {redus: {topology: single}}\n":                    `no service is named "redus"; did you mean "redis"?`,
		"servers: {redis: {topology: ring}}\n":                      `redis has no topology "ring"; known are single, replicated, sentinel, cluster, independent`,
		"servers: {redis: {toplogy: single}}\n":                     `servers have no key "toplogy"; did you mean "topology"?`,
		"redis: {save: no}\nservers: {redis: {topology: single}}\n": "both configure redis",
	} {
		_, err := Read("s.yaml", []byte(serversHead+text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s got %v, want %q", text, err, want)
		}
	}
}
