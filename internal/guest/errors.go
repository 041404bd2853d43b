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
	// ErrBadRequest is the definite answer to a request that the guest did not understand
	// and did nothing about: host and guest disagree on the protocol.
	ErrBadRequest = errors.New("bad request")
	// ErrGone says that the guest's output ended, or that it broke the protocol beyond
	// repair. The outcome of every call that ends so is unknown.
	ErrGone = errors.New("the guest is gone")
	// ErrNoAnswer says that a guest did not answer open within the limit.
	ErrNoAnswer = errors.New("no answer")
)

// The words of Answer.Fail, all of which are definite.
const (
	FailTaken       = "taken"
	FailNotHeld     = "not-held"
	FailLost        = "lost"
	FailUnsupported = "unsupported"
	FailBadRequest  = "bad-request"
)

// fails gives each word its error, and the operations that it can answer. The
// list of operations keeps a slip of a guest's author from passing for a
// definite outcome: a release that "failed with taken" may well have happened.
var fails = []struct {
	word string
	err  error
	ops  []string
}{
	{FailTaken, locks.ErrTaken, []string{OpAcquire}},
	{FailNotHeld, locks.ErrNotHeld, []string{OpRelease, OpRenew}},
	{FailLost, ErrLost, []string{OpCheck}}, // a touch does not look
	{FailUnsupported, locks.ErrUnsupported, []string{OpOpen, OpAcquire, OpRenew, OpRelease}},
	{FailBadRequest, ErrBadRequest, []string{OpOpen, OpAcquire, OpCheck, OpTouch, OpRenew, OpRelease, OpClose}},
}

// Definite tells whether err is a definite failure: what was asked for did not
// happen and never will. Every other error leaves the outcome unknown.
func Definite(err error) bool {
	for _, f := range fails {
		if errors.Is(err, f.err) {
			return true
		}
	}
	return false
}

// failOf finds the word for what a lock returned from op; ok is false if the
// outcome is unknown.
func failOf(op string, err error) (word string, ok bool) {
	for _, f := range fails {
		if slices.Contains(f.ops, op) && errors.Is(err, f.err) {
			return f.word, true
		}
	}
	return "", false
}

// errorOf is the way back: the error that an answer to op stands for.
func errorOf(op string, a Answer) error {
	switch {
	case a.OK:
		return nil
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
		// Guests written in Go send the whole error, which often begins with the
		// sentinel's own text.
		text := strings.TrimPrefix(strings.TrimPrefix(a.Text, f.err.Error()), ": ")
		if text == "" {
			return f.err
		}
		return fmt.Errorf("%w: %s", f.err, text)
	}
	return fmt.Errorf("outcome unknown: the guest answered %s with fail %q, which is not one of %s",
		op, a.Fail, strings.Join(known, ", "))
}
