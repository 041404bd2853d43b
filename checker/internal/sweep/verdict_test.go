package sweep

// Verdict is a result in one word. The zero value is Valid; worse is greater.
type Verdict uint8

// The verdicts.
const (
	Valid Verdict = iota
	Undecided
	Violated
)

func (v Verdict) String() string { return [...]string{"valid", "undecided", "violated"}[v] }

// Verdict returns the verdict of a check.
func (r Result) Verdict() Verdict {
	switch {
	case len(r.Findings) > 0:
		return Violated
	case r.Why != "":
		return Undecided
	}
	return Valid
}

func (r Rule) String() string {
	return [...]string{"", "two-holders", "reader-and-writer",
		"released-without-holding", "released-twice", "evicted", "refused-though-free"}[r]
}
