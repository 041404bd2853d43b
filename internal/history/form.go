package history

import (
	"slices"
	"strings"
	"time"

	"lockbench/locks"
)

// checkForm says what is wrong with an event taken by itself.
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
			return Malform(line, "form", "%s has %s of %q, which nobody invokes; expected info", who(e), e.Type, e.F)
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
			return Malform(line, "key", "%s acquires session %s without the name of a lock; expected \"key\", or \"keys\" for several", who(e), e.Session)
		case e.Key != "" && keys:
			return Malform(line, "key", "%s acquires session %s with both \"key\" and \"keys\"; expected one of the two", who(e), e.Session)
		case keys && slices.Contains(e.Keys, ""):
			return Malform(line, "key", "%s acquires session %s with an empty name among %q; expected names", who(e), e.Session, e.Keys)
		}
	case FRead, Write:
		if e.Resource != "" && e.Resource != Plain && e.Resource != Fenced {
			return Malform(line, "word", "the resource %q is not known; expected plain or fenced", e.Resource)
		}
		if e.F == FRead && e.Session == "" {
			return nil
		}
	case Release, Renew, Check:
	case "":
		return Malform(line, "word", "the event does not say what was done; expected f with one of %s", operationWords)
	default:
		return Malform(line, "word", "%s does %q, which is not known; expected one of %s, or process \"nemesis\" for a fault", who(e), e.F, operationWords)
	}
	if e.Session == "" {
		return Malform(line, "session", "%s has %s of %s without a session; expected the name of the acquire attempt it belongs to", who(e), e.Type, article(e.F))
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
		{"lease", int64(e.Lease), " nanoseconds"}, {"step", int64(e.Step), ""},
	} {
		if n.of < 0 {
			return Malform(line, "negative", "%s has %s %d; expected 0 or more%s", subject(e), n.name, n.of, n.unit)
		}
	}
	if e.permits() < 1 {
		return Malform(line, "permits", "%s has permits %d; expected 1 or more", subject(e), e.permits())
	}
	return nil
}
