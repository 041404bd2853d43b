package shard

import (
	"fmt"
	"strconv"
)

// SizeVariable is the number of parts where an engine does not say it: Kubernetes tells a pod
// its index alone, and Slurm counts a part that is submitted anew as an array of one.
const SizeVariable = "LOCKBENCH_SHARDS"

// FromEnvironment is the part that a batch engine has given to this process, and by which
// variables; nothing if none has. What is wrong with them is an error, for a part taken
// for the whole would do everything once more.
func FromEnvironment(getenv func(string) string) (s Shard, by string, err error) {
	size := getenv(SizeVariable)
	switch {
	case getenv("LOCKBENCH_SHARD") != "":
		s, err = Parse(getenv("LOCKBENCH_SHARD"))
		return s, "LOCKBENCH_SHARD", prefix("LOCKBENCH_SHARD", err)
	case getenv("SLURM_ARRAY_TASK_ID") != "":
		return slurm(getenv, size)
	case getenv("JOB_COMPLETION_INDEX") != "":
		return counted(getenv, "JOB_COMPLETION_INDEX", 0, size, SizeVariable)
	case getenv("LOCKBENCH_TASK_SLOT") != "": // of Docker Swarm, by a template
		return counted(swarm(getenv), "LOCKBENCH_TASK_SLOT", 0, size, SizeVariable)
	case getenv("CI_NODE_INDEX") != "": // of GitLab, with parallel:
		return counted(getenv, "CI_NODE_INDEX", 1, getenv("CI_NODE_TOTAL"), "CI_NODE_TOTAL")
	case size != "":
		return s, "", fmt.Errorf("%s is %s, and nothing says which of them this is; set LOCKBENCH_SHARD, such as 3/%s, or unset it", SizeVariable, size, size)
	}
	return s, "", nil
}

// counted is a part whose index counts from first.
func counted(getenv func(string) string, variable string, first int, size, sizeVariable string) (Shard, string, error) {
	by := variable + " and " + sizeVariable
	index, err := strconv.Atoi(getenv(variable))
	n, sizeErr := strconv.Atoi(size)
	switch {
	case size == "":
		return Shard{}, by, fmt.Errorf("%s is %s, and nothing says of how many; set %s", variable, getenv(variable), sizeVariable)
	case err != nil || sizeErr != nil || n < 1 || index < first || index-first >= n:
		return Shard{}, by, fmt.Errorf("%s is %s and %s is %s; want an index from %d, below the number", variable, getenv(variable), sizeVariable, size, first)
	}
	return Shard{index - first + 1, n}, by, nil
}

// slurm is a task of an array, whose numbers begin where somebody wanted. With the number of
// parts given they begin at 1, so that one of them can be submitted anew.
func slurm(getenv func(string) string, size string) (Shard, string, error) {
	if size != "" {
		return counted(getenv, "SLURM_ARRAY_TASK_ID", 1, size, SizeVariable)
	}
	const id, count, low, high = "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX"
	first, err := strconv.Atoi(getenv(low))
	last, lastErr := strconv.Atoi(getenv(high))
	n, countErr := strconv.Atoi(getenv(count))
	if err != nil || lastErr != nil || countErr != nil || last-first+1 != n {
		return Shard{}, id, fmt.Errorf("the array goes from %s to %s and has %s tasks, so it has gaps; number it from 1 and set %s to the number of all parts",
			getenv(low), getenv(high), getenv(count), SizeVariable)
	}
	return counted(getenv, id, first, getenv(count), count)
}

// swarm tells slots by their numbers: of the first, which is 0, Swarm's template says the name of
// the node in its place.
func swarm(getenv func(string) string) func(string) string {
	return func(name string) string {
		if name == "LOCKBENCH_TASK_SLOT" && getenv(name) == getenv("LOCKBENCH_TASK_NODE") {
			return "0"
		}
		return getenv(name)
	}
}

func prefix(variable string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", variable, err)
	}
	return err
}
