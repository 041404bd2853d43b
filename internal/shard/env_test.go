package shard

import (
	"strings"
	"testing"
)

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  string // NAME=VALUE, by spaces
		want string // the part, or a word of the error
		bad  bool
	}{
		{"", "0/0", false},
		{"LOCKBENCH_SHARD=3/8", "3/8", false},
		{"LOCKBENCH_SHARD=9/8", "LOCKBENCH_SHARD", true},
		{"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_COUNT=8", "1/8", false},
		{"SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=8 SLURM_ARRAY_TASK_COUNT=8", "8/8", false},
		// Submitted anew, as an array of one.
		{"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=3 SLURM_ARRAY_TASK_COUNT=1 LOCKBENCH_SHARDS=8", "3/8", false},
		{"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_COUNT=4", "gaps", true},
		{"SLURM_ARRAY_TASK_ID=0 LOCKBENCH_SHARDS=8", "from 1", true},
		{"JOB_COMPLETION_INDEX=0 LOCKBENCH_SHARDS=8", "1/8", false},
		{"JOB_COMPLETION_INDEX=7 LOCKBENCH_SHARDS=8", "8/8", false},
		{"JOB_COMPLETION_INDEX=8 LOCKBENCH_SHARDS=8", "below the number", true},
		{"JOB_COMPLETION_INDEX=2", "of how many", true},
		{"LOCKBENCH_TASK_SLOT=2 LOCKBENCH_SHARDS=8", "3/8", false},
		{"LOCKBENCH_TASK_SLOT=ysrm3f LOCKBENCH_TASK_NODE=ysrm3f LOCKBENCH_SHARDS=8", "1/8", false},
		{"LOCKBENCH_TASK_SLOT=ysrm3f LOCKBENCH_TASK_NODE=other LOCKBENCH_SHARDS=8", "from 0", true},
		{"CI_NODE_INDEX=3 CI_NODE_TOTAL=8", "3/8", false},
		{"CI_NODE_INDEX=0 CI_NODE_TOTAL=8", "from 1", true},
		{"LOCKBENCH_SHARDS=8", "which of them", true},
	} {
		env := map[string]string{}
		for word := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(word, "=")
			env[name] = value
		}
		s, _, err := FromEnvironment(func(name string) string { return env[name] })
		switch {
		case c.bad && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, %v; want an error with %q", c.env, s, err, c.want)
		case !c.bad && (err != nil || s.String() != c.want):
			t.Errorf("%s: got %v, %v; want %s", c.env, s, err, c.want)
		}
	}
}
