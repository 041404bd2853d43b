package main

import (
	"testing"

	"github.com/spf13/cobra"
)

// The command that repeats a run has every given flag, quoted for a shell, and the seed, even if it was drawn.
func TestAgainRepeatsTheRun(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"nothing given", nil, "lockbench run failover --world local --seed 7"},
		{"world and seed are said once", []string{"--world", "auto", "--seed", "3"}, "lockbench run failover --world local --seed 7"},
		{
			"a command of one's own", []string{"--locks", "set-nx,py=cmd:python3 guest.py"},
			"lockbench run failover --world local --seed 7 --locks 'set-nx,py=cmd:python3 guest.py'",
		},
		{
			"zero is a value", []string{"--wait", "0s", "--hold", "0s..5ms"},
			"lockbench run failover --world local --seed 7 --hold 0s..5ms --wait 0s",
		},
		{
			"flags that may be repeated", []string{"--expect", "valid", "--expect", "set-nx=violated double-grant"},
			"lockbench run failover --world local --seed 7 --expect valid --expect 'set-nx=violated double-grant'",
		},
		{
			"programs of services", []string{"--server", "redis=/opt/my server", "--image", "redis=mine:7"},
			"lockbench run failover --world local --seed 7 --image redis=mine:7 --server 'redis=/opt/my server'",
		},
		{
			"switches", []string{"--until-violation", "--no-faults=false", "--parallel", "1", "--json"},
			"lockbench run failover --world local --seed 7 --parallel 1 --until-violation",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var f runFlags
			c := &cobra.Command{Use: "run"}
			f.register(c)
			if err := c.ParseFlags(tt.args); err != nil {
				t.Fatal(err)
			}
			if got := again(c, []string{"failover"}, put{"world", "local"}, put{"seed", "7"}); got != tt.want {
				t.Errorf("again:\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}
