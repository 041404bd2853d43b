package shard

import (
	"strings"
	"testing"
)

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  string // NAME=VALUE, by spaces
		want string // the shard, or a word of the error
		bad  bool
	}{
		{"", "0/0", false},
		{"JOB_COMPLETION_INDEX=0 LOCKBENCH_SHARDS=8", "1/8", false},
		{"JOB_COMPLETION_INDEX=7 LOCKBENCH_SHARDS=8", "8/8", false},
		{"JOB_COMPLETION_INDEX=8 LOCKBENCH_SHARDS=8", "below the number", true},
		{"JOB_COMPLETION_INDEX=2", "LOCKBENCH_SHARDS", true},
		{"LOCKBENCH_TASK_SLOT=2 LOCKBENCH_SHARDS=8", "3/8", false},
		{"LOCKBENCH_TASK_SLOT=ysrm3f LOCKBENCH_TASK_NODE=ysrm3f LOCKBENCH_SHARDS=8", "1/8", false},
		{"LOCKBENCH_TASK_SLOT=ysrm3f LOCKBENCH_TASK_NODE=other LOCKBENCH_SHARDS=8", "from 0", true},
		{"LOCKBENCH_SHARDS=8", "the index is missing", true},
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
