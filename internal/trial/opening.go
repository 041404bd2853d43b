package trial

import (
	"errors"
	"fmt"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
)

// openError is the error for a client that could not be opened.
type openError struct {
	client int
	err    error // from the world
}

func (e *openError) Error() string { return fmt.Sprintf("open client %d: %s", e.client, e.why()) }

func (e *openError) Unwrap() error { return e.err }

// why returns the error without the client's name, so that equal reasons compare equal.
func (e *openError) why() string {
	return strings.TrimPrefix(e.err.Error(), fmt.Sprintf("open %s: ", history.ClientParty(e.client)))
}

// notOpened is the error for several clients. It contains each reason once.
type notOpened struct {
	text string
	errs []error
}

func (e *notOpened) Error() string { return e.text }

func (e *notOpened) Unwrap() []error { return e.errs }

// unopened combines the errors of a crew's clients. It returns nil if there are none.
func unopened(errs []*openError, s *Subject) error {
	var all []error
	var reasons []string
	first, count := map[string]*openError{}, map[string]int{}
	for _, e := range errs {
		if e == nil {
			continue
		}
		if errors.Is(e, world.ErrUnsupportedHere) {
			return e // all clients failed for the same reason
		}
		if errors.Is(e, locks.ErrUnsupported) {
			return fmt.Errorf("%w: %w", world.ErrUnsupportedHere, e)
		}
		why := e.why()
		if count[why]++; count[why] == 1 {
			reasons, first[why] = append(reasons, why), e
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil
	}
	lines := make([]string, len(reasons))
	for i, why := range reasons {
		if lines[i] = first[why].Error(); count[why] > 1 {
			lines[i] = fmt.Sprintf("open %d clients: %s", count[why], why)
		}
	}
	text := strings.Join(lines, "\n")
	if on := s.Spec.Topology.Name; s.own && on != locks.None && on != locks.Single {
		text += fmt.Sprintf("; if the lock cannot use the topology %s, let its opener return locks.ErrUnsupported"+
			" (a guest: let it answer open with fail \"unsupported\")", on)
	}
	return &notOpened{text, all}
}
