package guest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/locks"
)

var (
	// ErrLost is the definite answer to a check: the client knows that its lock is lost.
	ErrLost = errors.New("lost")
	// ErrBadRequest is the definite answer to a request that the guest did not understand and did not execute.
	ErrBadRequest = errors.New("bad request")
	// ErrGone means that the guest's output ended or that the guest broke the protocol irreparably. The outcome of the
	// call is unknown.
	ErrGone = errors.New("the guest is gone")
	// ErrNoAnswer means that a guest did not answer open within the limit.
	ErrNoAnswer = errors.New("no answer")
)

// The values of Answer.Fail. All are definite failures.
const (
	FailTaken       = "taken"
	FailNotHeld     = "not-held"
	FailLost        = "lost"
	FailUnsupported = "unsupported"
	FailBadRequest  = "bad-request"
)

// fails maps each value to its error and to the operations that may return it. The list of operations keeps a mistake in a
// guest from becoming a definite outcome: a release that "failed with taken" may have happened.
var fails = []struct {
	word string
	err  error
	ops  []string
}{
	{FailTaken, locks.ErrTaken, []string{OpAcquire}},
	{FailNotHeld, locks.ErrNotHeld, []string{OpRelease, OpRenew}},
	{FailLost, ErrLost, []string{OpCheck}}, // a touch does not check
	{FailUnsupported, locks.ErrUnsupported, []string{OpOpen, OpAcquire, OpRenew, OpRelease}},
	{FailBadRequest, ErrBadRequest, []string{OpOpen, OpAcquire, OpCheck, OpTouch, OpRenew, OpRelease, OpClose}},
}

// Definite reports whether err is a definite failure: the operation did not and will not happen. After any other error the
// outcome is unknown.
func Definite(err error) bool {
	for _, f := range fails {
		if errors.Is(err, f.err) {
			return true
		}
	}
	return false
}

// failOf returns the value of Fail for an error of a lock. ok is false if the outcome is unknown.
func failOf(op string, err error) (word string, ok bool) {
	for _, f := range fails {
		if slices.Contains(f.ops, op) && errors.Is(err, f.err) {
			return f.word, true
		}
	}
	return "", false
}

// mayBeDone reports whether an operation may be answered with done.
func mayBeDone(op string) bool { return op == OpRelease || op == OpRenew }

// errorOf returns the error of an answer; it is the inverse of failOf.
func errorOf(op string, a Answer) error {
	switch {
	case a.OK:
		return nil
	case a.Done && mayBeDone(op):
		return locks.ErrUnconfirmed
	case a.Done:
		return fmt.Errorf("outcome unknown: the guest answered %s with done, which only a %s or a %s may have", op, OpRelease, OpRenew)
	case a.Unknown != "":
		return errors.New(a.Unknown)
	}
	var known []string
	for _, f := range fails {
		if !slices.Contains(f.ops, op) {
			continue
		}
		known = append(known, f.word)
		if f.word != a.Fail {
			continue
		}
		// Go guests send the whole error text, which often begins with the text of the sentinel.
		text := strings.TrimPrefix(strings.TrimPrefix(a.Text, f.err.Error()), ": ")
		if text == "" {
			return f.err
		}
		return fmt.Errorf("%w: %s", f.err, text)
	}
	return fmt.Errorf("outcome unknown: the guest answered %s with fail %q, which is not one of %s",
		op, a.Fail, strings.Join(known, ", "))
}
