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
	owners            []uint32 // by session; nil if none has several
	families          []uint32 // by owner: how many sessions it has
	sessions          []session
	cores             []uint64 // packed
	spare             []uint64 // for sorting
	single            bool     // one may hold at a time, so that ends need not be kept
	ends              []uint64 // releases of granted sessions, packed: those that may end their cores
	doubtful          bool     // not all of them do
	refused           []uint32 // sessions whose acquire was refused strictly, in the order of calls
	open              []uint32 // those of them that no core explains
	unsure            []uint32 // sessions whose acquire is unknown, but a release was ok
	denied            []uint32 // sessions that were told, when they were released, that they do not hold
	unknowns          int      // sessions whose acquire is unknown and that were never released for sure
	special           bool     // some session of unknown acquire was told that it did not hold
	why               string   // what could not be decided, and why

	weights []int64  // of sessions of a semaphore
	tokenOf []int64  // by session
	order   []uint32 // places of cores, by token

	gaps   gaps
	counts counts
	walk   walk
}

// Check decides whether the history of one lock is linearizable.
func (c *Checker) Check(m Model, o *Ops) Result {
	c.Findings, c.why, c.ops, c.owners = c.Findings[:0], "", o, nil
	if m.Shape != Semaphore && c.count(o.Owners) {
		c.owners = o.Owners
	}
	c.reentrant, c.fenced = m.Reentrant, m.Fenced && m.Shape == Mutex
	c.single = m.Shape == Mutex || c.owners != nil
	c.read(o)
	switch {
	case c.owners != nil:
		c.owned(o)
	case m.Shape == Mutex:
		c.mutex(o)
	default:
		c.counting(m, o)
	}
	return c.result()
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
