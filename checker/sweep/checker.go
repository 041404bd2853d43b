package sweep

// Finding is one violation.
type Finding struct {
	Rule          Rule
	First, Second uint32 // sessions, or None
}

// Checker checks one lock after another, each with the memory of the one before. It
// is for one goroutine at a time.
type Checker struct {
	// Findings are those of the last check, all that were found; of some violations
	// the consequences cannot be told from further ones and are left out.
	Findings []Finding

	ops               *Ops // being judged
	reentrant, fenced bool
	sessions          []session
	cores             []uint64 // packed
	spare             []uint64 // for sorting
	single            bool     // one may hold at a time, so that ends need not be kept
	ends              []uint64 // releases of granted sessions, packed: those that may end their cores
	doubtful          bool     // not all of them do
	refused           []uint32 // sessions whose acquire was refused strictly, in the order of calls
	unsure            []uint32 // sessions whose acquire is unknown, but a release was ok
	denied            []uint32 // sessions that were told, when they were released, that they do not hold
	ghosts            int      // sessions whose acquire is unknown and that were never released for sure
	special           bool     // some session of unknown acquire was told that it did not hold
	why               string   // what could not be decided, and why
	mixed             string   // why a violation would not be certain

	weights []int64 // of sessions of a semaphore

	gaps     gaps
	frontier frontier
	crowd    crowd
	counts   counts
	owners   owners
}

// Check decides whether the history of one lock is linearizable.
func (c *Checker) Check(m Model, o *Ops) Result {
	c.Findings, c.why, c.mixed = c.Findings[:0], "", ""
	c.ops, c.reentrant, c.fenced = o, m.Reentrant && m.Shape == Mutex, m.Fenced && m.Shape == Mutex
	c.single = m.Shape == Mutex
	if c.reentrant {
		c.readOwned(o)
	} else {
		c.read(o)
	}
	if c.why == "" {
		if m.Shape == Mutex {
			c.mutex(o)
		} else {
			c.counting(m, o)
		}
	} else {
		c.Findings = c.Findings[:0] // what breaks the rules of the form is not judged
	}
	if c.mixed != "" && len(c.Findings) > 0 {
		c.Findings, c.why = c.Findings[:0], c.mixed
	}
	if c.reentrant {
		for i := range c.Findings {
			f := &c.Findings[i]
			f.First, f.Second = c.owner(f.First), c.owner(f.Second)
		}
	}
	return c.result()
}

// owner is whose session it is.
func (c *Checker) owner(session uint32) uint32 {
	if session == None {
		return None
	}
	return c.owners.of[session]
}

// result tells the finding that says most: who held before what was answered.
func (c *Checker) result() Result {
	r := Result{First: None, Second: None}
	for _, f := range c.Findings {
		if r.Rule == NoRule || f.Rule < r.Rule {
			r = Result{Violated, f.Rule, f.First, f.Second, ""}
		}
	}
	if r.Rule == NoRule && c.why != "" {
		r.Verdict, r.Why = Undecided, c.why
	}
	return r
}

func (c *Checker) found(r Rule, first, second uint32) {
	c.Findings = append(c.Findings, Finding{r, first, second})
}
