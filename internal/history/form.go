package history

import (
	"slices"
	"strings"
	"time"

	"lockbench/locks"
)

// checkForm checks an event by itself.
func checkForm(e *Event, line int) *Malformed {
	if e.Type < Invoke || e.Type > Info {
		return Malform(line, "word", "the event has no type; expected invoke, ok, fail or info")
	}
	if e.Mode > locks.Shared {
		return Malform(line, "word", "mode %d is not known; expected exclusive or shared", e.Mode)
	}
	if m := checkNumbers(e, line); m != nil {
		return m
	}
	switch {
	case e.Process == Nemesis:
		return checkNemesis(e, line)
	case e.Process == Probe:
		if e.F != FProbe || e.Type != Info {
			return Malform(line, "form", "the probe has %s of %q; expected info of \"probe\"", e.Type, e.F)
		}
		return nil
	case e.Process < 0:
		return Malform(line, "negative", "process is %d; expected 0 or more, \"nemesis\" or \"probe\"", e.Process)
	case e.Client < 0:
		return Malform(line, "negative", "client is %d; expected 0 or more", e.Client)
	}
	return checkOperation(e, line)
}

func checkOperation(e *Event, line int) *Malformed {
	switch e.F {
	case Lost, Died:
		if e.Type != Info {
			return wrong(e, line, "form", "has the type %s, but is not an operation that a client invokes; expected info", e.Type)
		}
		if e.F == Died {
			return nil
		}
	case Acquire:
		if e.Type != Invoke {
			break
		}
		keys := len(e.Keys) > 0
		switch {
		case e.Session == "":
		case e.Key == "" && !keys:
			return wrong(e, line, "key", "does not name a lock; expected \"key\", or \"keys\" for several")
		case e.Key != "" && keys:
			return wrong(e, line, "key", "has both \"key\" and \"keys\"; expected one of the two")
		case keys && slices.Contains(e.Keys, ""):
			return wrong(e, line, "key", "has an empty name among %q; expected names", e.Keys)
		}
	case FRead, Write:
		if e.Resource != "" && e.Resource != Plain && e.Resource != Fenced {
			return Malform(line, "word", "the resource %q is not known; expected plain or fenced", e.Resource)
		}
		if e.F == FRead && e.Session == "" {
			return nil
		}
	case Release, Renew:
		if e.Unconfirmed && e.Type != OK {
			return wrong(e, line, "form", "has type %s and unconfirmed; expected unconfirmed only with ok", e.Type)
		}
	case Check:
	case "":
		return Malform(line, "word", "the event does not say what was done; expected f with one of %s", operationWords)
	default:
		return wrong(e, line, "word", "is not known; expected one of %s, or process \"nemesis\" for a fault", operationWords)
	}
	if e.Unconfirmed && e.F != Release && e.F != Renew {
		return wrong(e, line, "form", "has unconfirmed; expected it only in a release or a renew")
	}
	if e.FromAnswer && (e.Type != OK || e.F != Acquire && e.F != Renew || e.Until != nil) {
		return wrong(e, line, "form", "has from_answer; expected it only in an acquire or a renew of type ok without \"until\"")
	}
	if e.Session == "" {
		return wrong(e, line, "session", "has no session; expected the name of the acquire attempt that it belongs to")
	}
	return nil
}

var operationWords = strings.Join([]string{Acquire, Release, Renew, Check, FRead, Write, Lost, Died}, ", ")

func checkNemesis(e *Event, line int) *Malformed {
	if e.Type != Info || e.F == "" {
		return Malform(line, "form", "the nemesis has %s of %q; expected info of a fault's name", e.Type, e.F)
	}
	for _, effect := range e.Effect {
		if !slices.Contains(effectWords, effect) {
			return Malform(line, "word", "effect %q of fault %q is not known; expected some of %s", effect, e.F, strings.Join(effectWords, ", "))
		}
	}
	switch e.Phase {
	case "", Begins, Bites, Heals, Healed, Fails:
		return nil
	}
	return Malform(line, "word", "phase %q of fault %q is not known; expected %s", e.Phase, e.F,
		strings.Join([]string{Begins, Bites, Heals, Healed, Fails}, ", "))
}

// checkNumbers refuses numbers below 0, except values of resources.
func checkNumbers(e *Event, line int) *Malformed {
	var until time.Duration
	if e.Until != nil {
		until = *e.Until
	}
	for _, n := range [...]struct {
		name string
		of   int64
		unit string
	}{
		{"ttl", int64(e.TTL), " nanoseconds"}, {"wait", int64(e.Wait), " nanoseconds"}, {"until", int64(until), " nanoseconds"},
		{"lease", int64(e.Lease), " nanoseconds"}, {"period", int64(e.Period), " nanoseconds"}, {"step", int64(e.Step), ""},
	} {
		if n.of < 0 {
			return wrong(e, line, "negative", "has %s %d; expected 0 or more%s", n.name, n.of, n.unit)
		}
	}
	return nil
}
