package checker

import (
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
)

// This file has the rules of points about leases and clocks.

// pointMargin is how much longer a hold lasts than what it outlasts, so that another client has the time to break it.
const pointMargin = 500 * time.Millisecond

// span writes a time as scenarios do: 6s, 1.5s.
func span(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// contested: a client asked for a lock that another client held.
func contested(e *episode) string {
	for _, s := range e.sessions {
		if granted(s) && e.asked(s, e.time(s.Acquire.Return), e.time(e.gone(s)), false) {
			return ""
		}
	}
	return "no client asked for a lock that another client held"
}

// outlasted: the latest renewal before the fault ended the lease before the fault and the hold ended.
func outlasted(e *episode) string {
	return e.holds([]string{"cut", "busy", "isolate", "drop-replies"}, func(f *history.Fault, s *history.Session) string {
		lease, end := e.lease(s), e.until(s, f)
		begins, heals := e.time(f.Bites), e.time(f.Heals)
		if f.Name == "busy" { // it ends by itself
			heals = e.time(f.Healed)
		}
		switch ends := begins + lease; {
		case lease == 0 && takenFrom(e, s, begins, min(heals, end)):
			return ""
		case lease == 0:
			return fmt.Sprintf("the lock has no lease, and no other client was granted it during the %s of %s", f.Name, span(heals-begins))
		case ends+pointMargin > heals:
			return fmt.Sprintf("the lease of %s did not end during the %s of %s", span(lease), f.Name, span(heals-begins))
		case ends+pointMargin > end:
			return fmt.Sprintf("the lease of %s did not end during the hold of %s after the %s began", span(lease), span(end-begins), f.Name)
		case !e.asked(s, ends, end, false):
			return fmt.Sprintf("no other client asked for the lock after the lease of %s had ended", span(lease))
		}
		return ""
	})
}

// takenFrom reports whether another client was granted a lock of s in a time.
func takenFrom(e *episode, s *history.Session, from, to time.Duration) bool {
	return slices.ContainsFunc(e.sessions, func(o *history.Session) bool {
		return excludes(s, o) && granted(o) && from < e.time(o.Acquire.Return) && e.time(o.Acquire.Return) < to
	})
}

// renewed: the lease was renewed in time after a renewal had failed. Libraries renew at each third of a lease; the fault lasts for one
// third at least, and for two thirds at most.
func renewed(e *episode) string {
	return e.holds([]string{"cut"}, func(f *history.Fault, s *history.Session) string {
		lease, lasts := e.lease(s), e.time(f.Heals)-e.time(f.Bites)
		hold := e.until(s, f) - e.time(s.Acquire.Return)
		switch {
		case lease == 0:
			return "the lock has no lease that is renewed"
		case hold < lease+pointMargin:
			return fmt.Sprintf("the hold of %s did not outlast the lease of %s", span(hold), span(lease))
		case 3*lasts < lease:
			return fmt.Sprintf("the %s of %s may lie between two renewals of the lease of %s", f.Name, span(lasts), span(lease))
		case 3*lasts > 2*lease:
			return fmt.Sprintf("the lease of %s may have ended during the %s of %s", span(lease), f.Name, span(lasts))
		}
		return ""
	})
}

// takenOver: the other client was granted the lock before the holder released it of its own accord.
func takenOver(e *episode) string {
	return e.holds([]string{"pause", "clock", "busy", "cut", "isolate"}, func(f *history.Fault, s *history.Session) string {
		end := max(e.time(f.Healed), e.until(s, f))
		if r := e.released(s); r < e.told(s) {
			end = min(end, e.time(r))
		}
		if !takenFrom(e, s, e.time(f.Bites), end) {
			return fmt.Sprintf("no other client was granted the lock during the %s of %s, nor after it until the release",
				f.Name, span(e.time(f.Healed)-e.time(f.Bites)))
		}
		return ""
	})
}

// oldGrant: a client that had counted its lease from the answer would have worked on when the server's lease was over.
func oldGrant(e *episode) string {
	const least = 50 * time.Millisecond
	why := "no lag took effect"
	for _, f := range e.named("lag") {
		why = fmt.Sprintf("no grant came %s late and was used to the end of its lease while another client asked", span(least))
		from, to := e.time(f.Bites), e.time(f.Healed)
		for _, s := range e.sessions {
			if !granted(s) || e.h.Events[s.Acquire.Return].Until == nil || e.h.Events[s.Acquire.Invoke].Wait > 0 {
				continue
			}
			asked, got := e.time(s.Acquire.Invoke), e.time(s.Acquire.Return)
			late, ends := got-asked, asked+*e.h.Events[s.Acquire.Return].Until
			if got < from || asked > to || late < least || e.time(e.gone(s)) < ends-late {
				continue
			}
			if e.asked(s, ends-late, ends+late, false) {
				return ""
			}
		}
	}
	return why
}

// mixedClocks: clients with different clocks asked for one key.
func mixedClocks(e *episode) string {
	why := "no clock of a client was changed"
	for _, f := range e.named("clock") {
		if !slices.ContainsFunc(f.Targets, func(t string) bool { return history.ParseParty(t).IsClient() }) {
			continue
		}
		from, to := e.time(f.Bites), e.time(f.Heals)
		if asked, _ := e.bothAsked(f, from, to); asked {
			return ""
		}
		why = unasked(f, to-from)
	}
	return why
}
