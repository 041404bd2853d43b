package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockbench/internal/regular"
	"lockbench/internal/world/sim"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// inputVersion is what the field sim of an input says. One of another version would
// give another history and prove nothing.
const inputVersion = "sim/1"

// InputFile is where an input lies, beside the history that came of it.
const InputFile = "sim.json"

// Input is everything that decides a trial in the simulation: the same input gives the
// same history, byte for byte.
type Input struct {
	Sim      string                       `json:"sim"`
	Program  string                       `json:"program,omitempty"` // the lockbench that wrote it
	Scenario string                       `json:"scenario"`
	Lock     scenarios.LockUse            `json:"lock"`
	Seed     uint64                       `json:"seed"`
	Servers  map[string]scenarios.Servers `json:"servers,omitempty"`
	Workload scenarios.Workload           `json:"workload"`
	Latency  sim.Latency                  `json:"latency_ns"`
	Episodes int                          `json:"episodes"`
	Quiet    time.Duration                `json:"quiet_ns"`
	Limit    time.Duration                `json:"limit_ns"`
	Faults   []nemesis.Step               `json:"faults"`
	NoFaults bool                         `json:"no_faults,omitempty"`
	// EndsAfter is the episode with which the trial ended because of --until-violation,
	// for what this lock had shown or another one. 0: it ended by itself.
	EndsAfter int `json:"ends_after,omitempty"`
	// Reduction makes the trial smaller. Nil: it is whole.
	Reduction *Reduction `json:"script,omitempty"`
	// History is the SHA-256 of the history that came of it, once there is one.
	History string `json:"history_sha256,omitempty"`
}

// NewInput is the input of the trial of one lock of a scenario.
func NewInput(s *scenarios.Scenario, use scenarios.LockUse, seed uint64) Input {
	return Input{
		Sim: inputVersion, Scenario: s.Name, Lock: use, Seed: seed,
		Servers: s.Servers, Workload: s.Workload, Latency: sim.DefaultLatency,
		Episodes: s.Episodes, Quiet: s.Quiet, Limit: s.Limit, Faults: FaultsFor(s.Faults, use),
	}
}

// AsScenario is the scenario that the input was taken from, as far as it is in it.
func (in Input) AsScenario() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name: in.Scenario, Locks: []scenarios.LockUse{in.Lock}, Servers: in.Servers, Workload: in.Workload,
		Episodes: in.Episodes, Quiet: in.Quiet, Limit: in.Limit, Faults: in.Faults, NoFaults: len(in.Faults) == 0,
	}
}

// wantsInput is what to name instead of a file that is no input: a history, most likely.
const wantsInput = "replay wants the folder of a run in the world sim, or a " + InputFile + " in it, and not a history"

// check refuses an input of which this program would make another trial.
func (in Input) check(file string) error {
	switch {
	case in.Sim == "":
		return fmt.Errorf("read %s: it is no job of the simulation (its field \"sim\" is missing); %s", file, wantsInput)
	case in.Sim != inputVersion:
		return fmt.Errorf("read %s: it is of version %q, and this lockbench replays %q; use the lockbench that wrote it", file, in.Sim, inputVersion)
	case in.Episodes < 1 || in.Workload.Clients < 1 || in.Workload.Keys < 1 || in.Lock.Name == "":
		return fmt.Errorf("read %s: the job is not whole: it names the lock %q, %d episodes, %d clients and %d keys",
			file, in.Lock.Name, in.Episodes, in.Workload.Clients, in.Workload.Keys)
	}
	return nil
}

// ReadInput reads the input in a file.
func ReadInput(file string) (Input, error) {
	var in Input
	text, err := regular.ReadFile(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return in, fmt.Errorf("read the job of a run: %w; only runs in the world sim can be replayed: lockbench run SCENARIO --world sim", err)
		}
		return in, fmt.Errorf("read the job of a run: %w", err)
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return in, fmt.Errorf("read %s: it is no job of the simulation (%w); %s", file, err, wantsInput)
	}
	return in, in.check(file)
}

// Write puts the input into the folder of its history.
func (in Input) Write(dir string) error {
	text, err := json.MarshalIndent(in, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, InputFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the job of a run: %w", err)
	}
	return nil
}
