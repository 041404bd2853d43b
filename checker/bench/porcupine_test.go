package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/internal/oracle"
)

// Measured is what porcupine did with a case.
type Measured struct {
	Took         time.Duration `json:"took"`
	Linearizable bool          `json:"linearizable"`
	GaveUp       string        `json:"gave_up,omitempty"` // time, memory: Took is when
	Memory       uint64        `json:"memory,omitempty"`  // bytes, at most
}

func (m Measured) String() string {
	switch m.GaveUp {
	case "":
		return round(m.Took).String()
	case "memory":
		return fmt.Sprintf("out of %.0f GiB of memory after %s", float64(m.Memory)/(1<<30), round(m.Took))
	}
	return "no answer within " + round(m.Took).String()
}

// Limit bounds the other side.
type Limit struct {
	Time   time.Duration `json:"time"`
	Memory uint64        `json:"memory"` // bytes
}

// request is what the child reads from its standard input.
type request struct {
	Case  Case  `json:"case"`
	Limit Limit `json:"limit"`
}

// porcupineOn is the other side on a case, in a process of its own: what takes all memory
// there is must not take this process with it.
func porcupineOn(ctx context.Context, c Case, limit Limit) (Measured, error) {
	asked, err := json.Marshal(request{c, limit})
	if err != nil {
		return Measured{}, err
	}
	cmd := child(ctx, "porcupine")
	cmd.Stdin = bytes.NewReader(asked)
	cmd.WaitDelay = time.Second
	from := time.Now()
	answer, err := cmd.Output()
	var m Measured
	if json.Unmarshal(answer, &m) == nil {
		return m, nil
	}
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	// Killed before it could say so: by the system, for want of memory.
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 {
		return Measured{Took: time.Since(from), GaveUp: "memory", Memory: limit.Memory}, nil
	}
	return m, fmt.Errorf("the process that runs porcupine: %w", err)
}

// servePorcupine is the child: it reads a case, runs porcupine on it within limits, and
// writes what came of it.
func servePorcupine(in io.Reader, out io.Writer) error {
	var r request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("read the case: %w", err)
	}
	// The history is made before the clock runs, as for the other side.
	var all [][]porcupine.Event
	for _, o := range r.Case.Histories() {
		all = append(all, oracle.Events(o))
	}
	// Porcupine's own partitioning: each lock is a search for itself.
	m := oracle.Model(r.Case.Model)
	m.PartitionEvent = func([]porcupine.Event) [][]porcupine.Event { return all }
	done := make(chan Measured, 1)
	from := time.Now()
	go func() {
		found := porcupine.CheckEventsTimeout(m, nil, r.Limit.Time)
		answer := Measured{Took: time.Since(from), Linearizable: found == porcupine.Ok}
		if found == porcupine.Unknown {
			answer.GaveUp = "time"
		}
		done <- answer
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case answer := <-done:
			return json.NewEncoder(out).Encode(answer)
		case <-tick.C:
			if used := memoryInUse(); used > r.Limit.Memory {
				// The search goes on in the background; this process is about to end.
				return json.NewEncoder(out).Encode(Measured{Took: time.Since(from), GaveUp: "memory", Memory: r.Limit.Memory})
			}
		}
	}
}

func memoryInUse() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// memoryFor is how much the other side is given: half of what is free, and no more than
// it is known to need, or 4 GiB where the free memory is unknown.
func memoryFor(most uint64) uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return min(most, 4<<30)
	}
	for _, line := range strings.Split(string(text), "\n") {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return min(most, kib<<10/2)
		}
	}
	return min(most, 4<<30)
}
