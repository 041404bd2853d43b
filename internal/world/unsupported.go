package world

import "fmt"

// Unsupported is the error for a lock that a world cannot run with all faults. Its row shows the reason, and it gets no
// verdict.
type Unsupported struct{ Why error }

func (u Unsupported) Error() string { return "unsupported here: " + u.Why.Error() }
func (u Unsupported) Unwrap() error { return u.Why }

// Unsupportedf returns an [Unsupported] with a reason.
func Unsupportedf(format string, args ...any) error { return Unsupported{fmt.Errorf(format, args...)} }
