package nemesis

import (
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/service/etcd"
	"lockbench/internal/world"
	"lockbench/workloads"
)

// The plan names the steps that do not apply to a quorum, or to a service whose requests the proxy does not parse.
func TestWhatMeansNothingToAQuorum(t *testing.T) {
	form, _ := service.Find(etcd.Service, etcd.Quorum)
	quorum := world.NewSketch(world.Spec{Service: etcd.Service, Topology: form})
	by := map[string]string{"by": "60s"}
	for _, one := range []struct {
		step Step
		want string // empty: the step applies
	}{
		{Step{Fault: "lag", Target: "master -> replicas", Options: by}, "a late follower forgets nothing"},
		{Step{Fault: "lag", Target: "replicas -> master", Options: by}, ""},
		{Step{Fault: "lag", Target: "clients -> master", Options: by}, ""},
		{Step{Fault: "kill", Target: "nearest replica"}, "do not tell how far a replica is"},
		{Step{Fault: "kill", Target: "a replica"}, ""},
		{Step{Fault: "kill", Target: "master"}, ""},
		{Step{Fault: "promote", Target: "a replica"}, ""},
		{Step{Fault: "kill", Target: "minority"}, "one master decides"},
		{Step{Fault: "pause", Target: "holder", When: workloads.Acquiring, Request: 1}, "gRPC"},
		{Step{Fault: "flush", Target: "master"}, "no such order"},
	} {
		fault, err := func() (Fault, error) {
			entry, _ := Find(one.step.Fault)
			return entry.New(one.step)
		}()
		if err != nil {
			t.Fatal(err)
		}
		err = fault.Available(quorum)
		if err == nil {
			err = one.step.available(quorum)
		}
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%s: %v, want %q", fault, err, one.want)
		}
	}
}
