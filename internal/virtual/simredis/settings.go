package simredis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"lockbench/internal/world"
)

// settings are the settings of redis.conf that a scenario can use in the simulation.
type settings struct {
	keeps       bool   // appendonly: a killed server comes back with its data
	fsync       string // appendfsync: when its disk has what it has written
	minReplicas int
	maxLag      time.Duration
}

// readSettings rejects settings that the simulation does not model. Ignoring them would change the meaning of a
// scenario.
func readSettings(given map[string]string) (settings, error) {
	s := settings{fsync: everysec, maxLag: 10 * time.Second}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		var err error
		switch name {
		case "appendonly":
			s.keeps = value == "yes"
		case "appendfsync":
			s.fsync = value
		case "save":
			if value != "" && value != `""` {
				err = fmt.Errorf("snapshots to disk are not modelled")
			}
		case "min-replicas-to-write":
			s.minReplicas, err = strconv.Atoi(value)
		case "min-replicas-max-lag":
			var seconds int
			seconds, err = strconv.Atoi(value)
			s.maxLag = time.Duration(seconds) * time.Second
		default:
			err = fmt.Errorf("the simulated server does not know it")
		}
		if err != nil {
			return s, world.Unsupportedf("the server setting %s %s: %w", name, value, err)
		}
	}
	return s, nil
}
