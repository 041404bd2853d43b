package trial

import (
	"cmp"
	"errors"
	"fmt"

	"lockbench/internal/world"
	"lockbench/locks"
)

// unopened returns the first error of opening clients. They usually all fail for the same reason.
func unopened(errs []error, s *Subject) error {
	err := cmp.Or(errs...)
	switch on := s.Spec.Topology.Name; {
	case err == nil, errors.As(err, new(world.Unsupported)):
		return err
	case errors.Is(err, locks.ErrUnsupported):
		return world.Unsupported{Why: err}
	case s.own && on != locks.None && on != locks.Single:
		return fmt.Errorf("%w; if the lock cannot use the topology %s, let its opener return locks.ErrUnsupported"+
			" (a guest: let it answer open with fail \"unsupported\")", err, on)
	}
	return err
}
