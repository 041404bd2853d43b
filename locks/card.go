package locks

// Card says who a lock is: what it offers, on which servers, and as what it is judged.
type Card struct {
	Name   string
	Family Family
	Claims Claims
	// Model is what the lock is to be judged as, in the words of a history's header. Empty:
	// what its claims say, see JudgedAs.
	Model []string
}

// Control reports whether the lock is a control: it needs no server, and its verdict shows whether lockbench works.
func (c Card) Control() bool { return c.Family == Control }

// Family says on which kind of lock service a lock runs.
type Family string

// The families.
const (
	Control     Family = "control"      // needs no server
	SingleStore Family = "single-store" // one master at a time
	Majority    Family = "majority"     // several independent masters
)

// JudgedAs is the lock's model: mutex, or rw if it can be shared, and then reentrant and
// fenced if it claims to be.
func (c Card) JudgedAs() []string {
	if len(c.Model) > 0 {
		return c.Model
	}
	model := []string{"mutex"}
	if c.Claims.Shared {
		model[0] = "rw"
	}
	if c.Claims.Reentrant {
		model = append(model, "reentrant")
	}
	if c.Claims.Fenced {
		model = append(model, "fenced")
	}
	return model
}
