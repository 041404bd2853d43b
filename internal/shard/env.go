package shard

import (
	"fmt"
	"strconv"
)

// The environment variables of [FromEnvironment].
const (
	sizeVariable = "LOCKBENCH_SHARDS"
	slotVariable = "LOCKBENCH_TASK_SLOT"
	nodeVariable = "LOCKBENCH_TASK_NODE"
)

// FromEnvironment returns the shard that a batch engine passes to a container in which no shell can compute --shard, and
// the name of the variable. LOCKBENCH_SHARDS is the number of shards. JOB_COMPLETION_INDEX (Kubernetes) or
// LOCKBENCH_TASK_SLOT (Docker Swarm, from a template) is the index, from 0. For slot 0 Swarm's template produces the name
// of the node, which LOCKBENCH_TASK_NODE contains. It is an error if only one of number and index is set, because the
// shard would do all runs.
func FromEnvironment(getenv func(string) string) (s Shard, by string, err error) {
	size := getenv(sizeVariable)
	for _, by := range []string{"JOB_COMPLETION_INDEX", slotVariable} {
		text := getenv(by)
		if text == "" {
			continue
		}
		if by == slotVariable && text == getenv(nodeVariable) {
			text = "0"
		}
		i, err := strconv.Atoi(text)
		n, sizeErr := strconv.Atoi(size)
		if err != nil || sizeErr != nil || i < 0 || i >= n {
			return s, by, fmt.Errorf("%s is %q and %s is %q; want an index from 0, below the number", by, getenv(by), sizeVariable, size)
		}
		return Shard{i + 1, n}, by, nil
	}
	if size != "" {
		return s, "", fmt.Errorf("%s is %s, but the index is missing; give --shard, such as 3/%s, or unset it", sizeVariable, size, size)
	}
	return s, "", nil
}
