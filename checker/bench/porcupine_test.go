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

// Measured is the result of porcupine for a case.
type Measured struct {
	Took         time.Duration `json:"took"`
	Linearizable bool          `json:"linearizable"`
	GaveUp       string        `json:"gave_up,omitempty"` // "time" or "memory"; Took is then the limit
	Memory       uint64        `json:"memory,omitempty"`  // the maximum in bytes
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

// Limit has the limits of porcupine.
type Limit struct {
	Time   time.Duration `json:"time"`
	Memory uint64        `json:"memory"` // bytes
}

// request is the input of the child.
type request struct {
	Case  Case  `json:"case"`
	Limit Limit `json:"limit"`
}

// porcupineOn runs porcupine on a case in a child process, because it may use all memory.
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
	// The system killed the child because of its memory.
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 {
		return Measured{Took: time.Since(from), GaveUp: "memory", Memory: limit.Memory}, nil
	}
	return m, fmt.Errorf("the process that runs porcupine: %w", err)
}

// servePorcupine is the child: it reads a case, runs porcupine on it within limits, and writes the result.
func servePorcupine(in io.Reader, out io.Writer) error {
	var r request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("read the case: %w", err)
	}
	// The history is generated before the measurement, as for the checker.
	var all [][]porcupine.Event
	for _, o := range r.Case.Histories() {
		all = append(all, oracle.Events(o))
	}
	// Porcupine's own partitioning: one search for each lock.
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
				// The search continues in the background, but this process ends.
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

// memoryFor returns the memory limit of porcupine: half of the free memory, but no more than it needs, or 4 GiB if the
// free memory is unknown.
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
