package scenarios

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// WithFaults changes only the faults.
func TestWithFaults(t *testing.T) {
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		with, err := s.WithFaults([]string{"kill: master, data: lost, for: 100s", "lag: master -> replicas, by: 1s"})
		if err != nil {
			t.Fatal(err)
		}
		if len(with.Faults) != 2 || with.Faults[0].Fault != "kill" || with.Faults[0].Options["data"] != "lost" || with.Faults[1].Target != "master -> replicas" {
			t.Errorf("%s: got %+v", name, with.Faults)
		}
		if with.Name != s.Name || with.Workload != s.Workload || with.Episodes != s.Episodes || len(with.Expect) != len(s.Expect) || len(with.Locks) != len(s.Locks) {
			t.Errorf("%s: more than the faults is different:\n%s", name, with.Source)
		}
		again, err := Read(name+".yaml", with.Source)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(with, again, cmpopts.IgnoreUnexported(Scenario{})); diff != "" {
			t.Errorf("%s: its text says something else (-scenario +text):\n%s", name, diff)
		}
	}
}

// A mistake is reported as an error of the argument.
func TestWithFaultsReportsTheArgument(t *testing.T) {
	s, err := Load("steady")
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{
		"kil: master":             "--fault: no fault is named \"kil\"; did you mean \"kill\"?",
		"kill: mastre":            "--fault: ",
		"kill: master, data: lot": "--fault: ",
		"":                        "--fault: the step names no fault",
		"kill: master}":           "--fault: ",
	} {
		_, err := s.WithFaults([]string{step})
		if err == nil || !IsUsage(err) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", step, err, want)
		}
	}
}
