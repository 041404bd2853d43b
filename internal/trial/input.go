package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockbench/internal/regular"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// inputVersion is the format of inputs. An input of another version would give another history.
const inputVersion = "sim/1"

// InputFile is the name of an input's file, in the folder of its history.
const InputFile = "sim.json"

// Input describes a trial. In the simulation the same input gives the same history, byte for byte, and a run writes it
// next to the history.
type Input struct {
	Sim      string                       `json:"sim"`
	Scenario string                       `json:"scenario"`
	Lock     scenarios.LockUse            `json:"lock"`
	Seed     uint64                       `json:"seed"`
	Servers  map[string]scenarios.Servers `json:"servers,omitempty"`
	Workload scenarios.Workload           `json:"workload"` // of this lock
	Latency  world.Latency                `json:"latency_ns"`
	Episodes int                          `json:"episodes"`
	Quiet    time.Duration                `json:"quiet_ns"`
	Limit    time.Duration                `json:"limit_ns"`
	Faults   []nemesis.Step               `json:"faults"`
	Point    scenarios.Point              `json:"point,omitempty"`
	NoFaults bool                         `json:"no_faults,omitempty"`
	// EndsAfter is the episode after which --until-violation ended the trial, because of this lock or another one. 0: the
	// trial ran all episodes.
	EndsAfter int `json:"ends_after,omitempty"`
	// Reduction shortens the trial. Nil: the whole trial.
	Reduction *Reduction `json:"script,omitempty"`
	// History is the SHA-256 of the resulting history, once it exists.
	History string `json:"history_sha256,omitempty"`
}

// NewInput returns the input of the trial of one lock of a scenario.
func NewInput(s *scenarios.Scenario, use scenarios.LockUse, seed uint64) Input {
	return Input{
		Sim: inputVersion, Scenario: s.Name, Lock: use, Seed: seed,
		Servers: s.Servers, Workload: s.WorkFor(use), Latency: world.DefaultLatency,
		Episodes: s.Episodes, Quiet: s.Quiet, Limit: s.Limit, Faults: s.Faults, Point: s.Point,
	}
}

const wantsInput = "replay wants the folder of a run in the world sim, or a " + InputFile + " in it, and not a history"

// check returns an error if this program cannot repeat the input.
func (in Input) check(file string) error {
	switch {
	case in.Sim == "":
		return fmt.Errorf("read %s: it is not a job of the simulation (its field \"sim\" is missing); %s", file, wantsInput)
	case in.Sim != inputVersion:
		return fmt.Errorf("read %s: it has version %q, and this lockbench replays %q; use the lockbench that wrote it", file, in.Sim, inputVersion)
	case in.Episodes < 1 || in.Workload.Clients < 1 || in.Workload.Keys < 1 || in.Lock.Name == "":
		return fmt.Errorf("read %s: the job is incomplete: it has the lock %q, %d episodes, %d clients and %d keys",
			file, in.Lock.Name, in.Episodes, in.Workload.Clients, in.Workload.Keys)
	}
	return nil
}

// ReadInput reads an input from a file.
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
		return in, fmt.Errorf("read %s: it is not a job of the simulation (%w); %s", file, err, wantsInput)
	}
	return in, in.check(file)
}

// Write writes the input to the folder of its history.
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

// Do runs the trial in this process. It writes the history to history and the harness's log
// to say. logs is the folder for the logs of servers; empty: no logs. own is a user's lock in this process, or nil. For
// enough see [Trial].
func (in Input) Do(ctx context.Context, w world.World, own *Opener, enough func(episode int) bool, history io.Writer, logs string, say func(line string)) error {
	sub, err := NewSubject(in, own)
	if err != nil {
		return err
	}
	if err := sub.Introduce(ctx, w); err != nil {
		return err
	}
	plan, err := nemesis.Draw(in.Seed, in.Episodes, in.Faults)
	if err != nil {
		return err
	}
	sub.Spec.LogDir = logs
	return (&Trial{Subject: sub, Plan: plan, World: w, History: history, Log: say, Enough: enough}).Run(ctx)
}
