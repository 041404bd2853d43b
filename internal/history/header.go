package history

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"lockbench/locks"
)

// Version is the value of the field lockbench in a header. New fields do not change it. A new major
// version is needed if older readers would misjudge a history.
const Version = "history/1"

// Header is the first line of a history. It describes the run for the judge.
type Header struct {
	Lockbench string       `json:"lockbench"`               // "history/1"
	Scenario  string       `json:"scenario,omitempty"`      // the name of the scenario
	Lock      string       `json:"lock,omitempty"`          // the lock with its options
	Topology  string       `json:"topology,omitempty"`      // how the servers are joined
	World     string       `json:"world,omitempty"`         // local, docker, sim or external
	Seed      uint64       `json:"seed,omitempty"`          // the seed of the run
	Started   time.Time    `json:"started,omitzero"`        // the beginning of the run
	Model     Model        `json:"model,omitempty"`         // one or several of mutex, reentrant, rw, fenced
	Claims    locks.Claims `json:"claims,omitzero"`         // the capabilities of the lock
	Module    string       `json:"module_sha256,omitempty"` // the hash of the WASM guest
	Bounds    *Bounds      `json:"bounds,omitempty"`        // what must have happened, so that the run shows something
	// Point is the name of what each episode must reach, or it counts for nothing. See docs/add-a-scenario.md.
	Point   string        `json:"point,omitempty"`
	Lease   time.Duration `json:"lease,omitempty"`   // the lease that the workload requests, or the lock's own
	Masters int           `json:"masters,omitempty"` // how many independent masters the lock has
	Plan    []PlanStep    `json:"plan,omitempty"`    // the planned faults
}

// Bounds are the minimal events of a run, which the check harness verifies. Without bounds it
// verifies only the form of the history.
type Bounds struct {
	GrantsBefore int `json:"grants_before,omitempty"`   // the minimum number of grants before the first fault begins
	GrantsAfter  int `json:"grants_after,omitempty"`    // the minimum number of grants after the last heal
	Attempts     int `json:"attempts_during,omitempty"` // at least so many attempts during faults
	// Bites is at least so many steps that take effect, in all episodes together.
	Bites int `json:"bites,omitempty"`
	// Episodes is how many episodes were planned.
	Episodes int `json:"episodes,omitempty"`
}

// PlanStep is one step of the plan, as the run intended it.
type PlanStep struct {
	ID      int      `json:"id"`                // the number of the step, from 1
	Fault   string   `json:"fault"`             // the name of the fault
	Targets []string `json:"targets,omitempty"` // its targets, as the scenario names them
	Episode int      `json:"episode,omitempty"` // the number of the episode, from 1
	NA      string   `json:"na,omitempty"`      // why the step cannot concern this lock
	Text    string   `json:"text,omitempty"`    // the step in words
}

// Model is a set of words: mutex, reentrant, rw, fenced. One word may
// stand without brackets.
type Model []string

// The words of a model. The fourth is [Fenced], which a resource can be as well.
const (
	Mutex     = "mutex"     // one holder at a time
	Reentrant = "reentrant" // the same owner may enter again
	RW        = "rw"        // several shared holders, or one exclusive
)

var modelWords = []string{Mutex, Reentrant, RW, Fenced}

// Has reports whether the model contains the word. A model without words is a mutex.
func (m Model) Has(word string) bool {
	return slices.Contains(m, word) || len(m) == 0 && word == Mutex
}

// UnmarshalJSON accepts one word without brackets.
func (m *Model) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var word string
		err := json.Unmarshal(data, &word)
		*m = Model{word}
		return err
	}
	return json.Unmarshal(data, (*[]string)(m))
}

// check checks the header by itself.
func (h *Header) check() *Malformed {
	major, _, _ := strings.Cut(h.Lockbench, ".") // history/1.2 only adds to history/1
	switch {
	case h.Lockbench == "":
		return Malform(1, "header", "this is not a header of lockbench; expected the first line of a history, such as %s", exampleHeader)
	case major != Version:
		return Malform(1, "version", "the history says it is of version %q, which this lockbench cannot judge; expected %q", h.Lockbench, Version)
	}
	for _, word := range h.Model {
		if !slices.Contains(modelWords, word) {
			return Malform(1, "word", "the model %q is not known; expected some of %s", word, strings.Join(modelWords, ", "))
		}
	}
	return nil
}

const exampleHeader = `{"lockbench":"history/1","lock":"set-nx","model":"mutex"}`

// decodeHeader reads the first line. Unknown fields, also inside, are ignored.
func decodeHeader(line []byte) (Header, *Malformed) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return h, Malform(1, "header", "field %q of the header is a JSON %s, which it cannot be", kind.Field, kind.Value)
		}
		return h, Malform(1, "header", "the line is not a JSON object (%v); expected the header of a history, such as %s", err, exampleHeader)
	}
	return h, h.check()
}
