package sim

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Standstill is the reason why virtual time does not advance, as far as goroutine stacks show it.
type Standstill struct {
	// Computes reports that a goroutine of the simulation runs, or waits for something outside.
	Computes bool
	// Waiting has each function that waits for a mutex once. Time cannot advance meanwhile,
	// because for the runtime such a wait may end at any moment.
	Waiting []string
}

// Frozen reports that no goroutine computes and at least one waits for a mutex, so the simulation
// cannot change any more.
func (s Standstill) Frozen() bool { return !s.Computes && len(s.Waiting) > 0 }

// String returns the waiting functions.
func (s Standstill) String() string {
	return "waiting for a mutex: " + strings.Join(s.Waiting, ", ")
}

// Told returns why the run is frozen, with advice: instead, or a module.
func (s Standstill) Told(instead string) string {
	return fmt.Sprintf("a library waits with a mutex held, and the simulation is frozen (%s). %s, or as a module, in which such a wait stops only itself (docs/wasm-guests.md)", s, instead)
}

// LookAt inspects all goroutines of the process.
func LookAt() Standstill {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			return readStacks(string(stacks[:n]))
		}
		stacks = make([]byte, 2*len(stacks))
	}
}

var (
	headOf  = regexp.MustCompile(`^goroutine \d+ \[([^\],]*).*synctest bubble.*\]:$`)
	callOf  = regexp.MustCompile(`^(?:\S*/)?(\S.*)\(.*\)$`)
	placeOf = regexp.MustCompile(`^\t.*?([^/]+:\d+)(?: \+0x[0-9a-f]+)?$`)
)

// readStacks parses the output of runtime.Stack. The state of goroutines in the simulation names
// their bubble: [sync.Mutex.Lock, 3 minutes, synctest bubble 1], [sleep (durable), synctest bubble 1].
func readStacks(text string) Standstill {
	var s Standstill
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.TrimLeft(block, "\n"), "\n")
		head := headOf.FindStringSubmatch(lines[0])
		if head == nil {
			continue
		}
		switch state := head[1]; {
		case strings.HasSuffix(state, "(durable)"):
		case strings.HasPrefix(state, "sync.Mutex.Lock") || strings.HasPrefix(state, "sync.RWMutex.") || strings.HasPrefix(state, "semacquire"):
			if caller := callerIn(lines[1:]); caller != "" && !slices.Contains(s.Waiting, caller) {
				s.Waiting = append(s.Waiting, caller)
			}
		default:
			s.Computes = true
		}
	}
	slices.Sort(s.Waiting)
	return s
}

// callerIn returns the innermost function of a stack that is not part of the runtime or of package
// sync, and its place: "redis.(*sentinelFailover).MasterAddr at sentinel.go:1024".
func callerIn(lines []string) string {
	for ; len(lines) > 1; lines = lines[2:] {
		if strings.HasPrefix(lines[0], "runtime.") || strings.HasPrefix(lines[0], "sync.") || strings.HasPrefix(lines[0], "internal/") {
			continue
		}
		call, place := callOf.FindStringSubmatch(lines[0]), placeOf.FindStringSubmatch(lines[1])
		if call != nil && place != nil {
			return call[1] + " at " + place[1]
		}
	}
	return ""
}
