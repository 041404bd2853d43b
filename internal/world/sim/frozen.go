package sim

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Standstill is the reason why virtual time does not move, as far as goroutine stacks show it.
type Standstill struct {
	// Computes reports that a goroutine of the simulation runs, or waits for something outside.
	Computes bool
	// Waiting are the functions that wait for a mutex, each once. Time cannot move meanwhile,
	// because for the runtime such a wait may end at any moment.
	Waiting []string
	// Keepers are functions that probably hold such a mutex, and what they wait for.
	Keepers []string
}

// Frozen reports that no goroutine computes and one waits for a mutex, so nothing in the simulation
// can change any more.
func (s Standstill) Frozen() bool { return !s.Computes && len(s.Waiting) > 0 }

// String returns the waiting functions and the probable holders.
func (s Standstill) String() string {
	text := "waiting for a mutex: " + strings.Join(s.Waiting, ", ")
	if len(s.Keepers) > 0 {
		text += "; keeping it, most likely: " + strings.Join(s.Keepers, ", ")
	}
	return text
}

// Told returns why a frozen run cannot go on, and two alternatives: instead, and a module.
func (s Standstill) Told(instead string) string {
	return fmt.Sprintf("a library waits with a mutex held, and the simulation is frozen (%s). %s, or as a module, in which such a wait stops only itself (docs/wasm-guests.md)", s, instead)
}

// LookAt looks at all goroutines of the process.
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

// goroutine is a goroutine in a stack trace.
type goroutine struct {
	state  string
	frames []frame // without the runtime and the packages of waiting, the innermost first
}

type frame struct {
	function string // "github.com/redis/go-redis/v9.(*sentinelFailover).MasterAddr"
	self     string // its first argument, which is the receiver of a method; may be empty
	at       string // "sentinel.go:1024"
}

var (
	headOf  = regexp.MustCompile(`^goroutine \d+ \[([^\]]*)\]:$`)
	callOf  = regexp.MustCompile(`^(\S.*)\((.*)\)$`)
	placeOf = regexp.MustCompile(`^\t.*?([^/]+:\d+)(?: \+0x[0-9a-f]+)?$`)
)

// readStacks parses the output of runtime.Stack. The state of goroutines in the simulation names
// their bubble: [sync.Mutex.Lock, 3 minutes, synctest bubble 1], [sleep (durable), synctest bubble 1].
func readStacks(text string) Standstill {
	var waiting, others []goroutine
	var s Standstill
	for block := range strings.SplitSeq(text, "\n\n") {
		g, inside := readGoroutine(strings.Split(block, "\n"))
		switch state, _, _ := strings.Cut(g.state, ","); {
		case !inside:
		case strings.HasSuffix(state, "(durable)"):
			others = append(others, g)
		case strings.HasPrefix(state, "sync.Mutex.Lock") || strings.HasPrefix(state, "sync.RWMutex.") || strings.HasPrefix(state, "semacquire"):
			waiting = append(waiting, g)
		default:
			s.Computes = true
		}
	}
	for _, w := range waiting {
		if len(w.frames) == 0 {
			continue
		}
		s.Waiting = once(s.Waiting, w.frames[0].String())
		for _, keeper := range keepers(w, others) {
			s.Keepers = once(s.Keepers, keeper)
		}
	}
	slices.Sort(s.Waiting)
	slices.Sort(s.Keepers)
	return s
}

func once(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

func readGoroutine(lines []string) (g goroutine, inside bool) {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return g, false
	}
	head := headOf.FindStringSubmatch(lines[0])
	if head == nil || !strings.Contains(head[1], "synctest bubble") {
		return g, false
	}
	g.state = head[1]
	for i := 1; i+1 < len(lines); i += 2 {
		call, place := callOf.FindStringSubmatch(lines[i]), placeOf.FindStringSubmatch(lines[i+1])
		if call == nil || place == nil || waits(call[1]) {
			continue
		}
		self, _, _ := strings.Cut(call[2], ",")
		if !strings.HasPrefix(self, "0x") {
			self = ""
		}
		g.frames = append(g.frames, frame{call[1], strings.TrimSuffix(self, "?"), place[1]})
	}
	return g, true
}

// waits reports whether a function is a waiting one.
func waits(function string) bool {
	for _, p := range []string{"runtime.", "sync.", "internal/", "time.", "created by "} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}

// keepers returns the goroutines inside a method of the object whose method waits for the mutex, or
// else inside a function of the same type or package.
func keepers(w goroutine, others []goroutine) []string {
	for _, same := range []func(a, b frame) bool{
		func(a, b frame) bool { return a.self != "" && a.self == b.self && a.owner() == b.owner() },
		func(a, b frame) bool { return a.function == b.function },
		func(a, b frame) bool { return strings.Contains(a.owner(), "(") && a.owner() == b.owner() },
	} {
		var found []string
		for _, g := range others {
			if at := slices.IndexFunc(g.frames, func(f frame) bool { return same(w.frames[0], f) }); at >= 0 {
				found = append(found, g.frames[at].String()+" ("+doing(g)+")")
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// doing returns what a goroutine waits for.
func doing(g goroutine) string {
	for _, f := range g.frames {
		if strings.HasSuffix(f.function, "sim.(*conn).Read") || strings.HasSuffix(f.function, "sim.(*client).dial") {
			return "it waits for the network"
		}
	}
	state, _, _ := strings.Cut(g.state, ",")
	if state = strings.TrimSuffix(state, " (durable)"); state == "sleep" {
		return "it sleeps"
	}
	return "it waits: " + state
}

// owner is the type of a method, "(*T)" with its package, or the package of a function.
func (f frame) owner() string {
	if at := strings.LastIndex(f.function, ")."); at >= 0 {
		return f.function[:at+1]
	}
	slash := strings.LastIndex(f.function, "/") + 1
	if dot := strings.Index(f.function[slash:], "."); dot >= 0 {
		return f.function[:slash+dot]
	}
	return f.function
}

func (f frame) String() string {
	function := f.function[strings.LastIndex(f.function, "/")+1:]
	return fmt.Sprintf("%s at %s", function, f.at)
}
