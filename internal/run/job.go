package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/world/sim"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// jobVersion is what the field sim of a job says. A job of another version would
// give another history and prove nothing.
const jobVersion = "sim/1"

// JobFile is where a job lies, beside the history that came of it.
const JobFile = "sim.json"

// Job is everything that decides a lock's run in the simulation: the same job gives
// the same history, byte for byte.
type Job struct {
	Sim      string             `json:"sim"`
	Program  string             `json:"program,omitempty"` // the lockbench that wrote it
	Scenario string             `json:"scenario"`
	Lock     scenarios.LockUse  `json:"lock"`
	Seed     uint64             `json:"seed"`
	Topology scenarios.Topology `json:"topology"`
	Redis    map[string]string  `json:"redis,omitempty"`
	Workload scenarios.Workload `json:"workload"`
	Latency  sim.Latency        `json:"latency_ns"`
	Episodes int                `json:"episodes"`
	Quiet    time.Duration      `json:"quiet_ns"`
	Limit    time.Duration      `json:"limit_ns"`
	Faults   []nemesis.Step     `json:"faults"`
	NoFaults bool               `json:"no_faults,omitempty"`
	// EndsAfter is the episode with which the run ended because of --until-violation,
	// for what this lock had shown or another one. 0: it ended by itself.
	EndsAfter int     `json:"ends_after,omitempty"`
	Script    *script `json:"script,omitempty"`
	// EndsWithin is of earlier programs, whose runs ended in the middle of an episode as
	// soon as they had shown a violation.
	EndsWithin bool `json:"until_violation,omitempty"`
	// History is the SHA-256 of the history that came of it, once there is one.
	History string `json:"history_sha256,omitempty"`
}

// newJob is the job of one lock of a scenario.
func newJob(s *scenarios.Scenario, use scenarios.LockUse, seed uint64) Job {
	return Job{
		Sim: jobVersion, Scenario: s.Name, Lock: use, Seed: seed,
		Topology: s.Topology, Redis: s.Redis, Workload: s.Workload, Latency: sim.DefaultLatency,
		Episodes: s.Episodes, Quiet: s.Quiet, Limit: s.Limit, Faults: s.Faults,
	}
}

// scenario is the job as the scenario that it was taken from.
func (j Job) scenario() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name: j.Scenario, Locks: []scenarios.LockUse{j.Lock}, Topology: j.Topology, Redis: j.Redis, Workload: j.Workload,
		Episodes: j.Episodes, Quiet: j.Quiet, Limit: j.Limit, Faults: j.Faults, NoFaults: len(j.Faults) == 0,
	}
}

// wantsJob is what to name instead of a file that is no job: a history, most likely.
const wantsJob = "replay wants the folder of a run in the world sim, or a " + JobFile + " in it, and not a history"

// check refuses a job that this program would run otherwise than it was run.
func (j Job) check(file string) error {
	switch {
	case j.Sim == "":
		return fmt.Errorf("read %s: it is no job of the simulation (its field \"sim\" is missing); %s", file, wantsJob)
	case j.Sim != jobVersion:
		return fmt.Errorf("read %s: it is of version %q, and this lockbench replays %q; use the lockbench that wrote it", file, j.Sim, jobVersion)
	case j.EndsWithin && (j.Script == nil || j.Script.Events == 0): // a history that was cut is the same without
		return fmt.Errorf("read %s: the run was to end in the middle of an episode, at the first violation, and this lockbench ends runs after an episode; use the lockbench that wrote it", file)
	case j.Episodes < 1 || j.Workload.Clients < 1 || j.Workload.Keys < 1 || j.Lock.Name == "":
		return fmt.Errorf("read %s: the job is not whole: it names the lock %q, %d episodes, %d clients and %d keys",
			file, j.Lock.Name, j.Episodes, j.Workload.Clients, j.Workload.Keys)
	}
	return nil
}

// ReadJob reads the job in a file.
func ReadJob(file string) (Job, error) {
	var j Job
	text, err := os.ReadFile(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return j, fmt.Errorf("read the job of a run: %w; only runs in the world sim can be replayed", err)
		}
		return j, fmt.Errorf("read the job of a run: %w", err)
	}
	if err := json.Unmarshal(text, &j); err != nil {
		return j, fmt.Errorf("read %s: it is no job of the simulation (%w); %s", file, err, wantsJob)
	}
	return j, j.check(file)
}

// write puts the job, with the sum of its history, beside the history.
func (j Job) write(dir string) error {
	sum, err := historySum(filepath.Join(dir, report.HistoryFile))
	if err != nil {
		return err
	}
	j.History = sum
	text, err := json.MarshalIndent(j, "", " ")
	if err != nil {
		return fmt.Errorf("write the job of a run: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, JobFile), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the job of a run: %w", err)
	}
	return nil
}

// historySum is the SHA-256 of a history.
func historySum(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the history: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
