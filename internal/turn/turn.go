// Package turn has a mutex whose waiters can give up and which does not stop virtual time.
package turn

import "context"

// Turn is a mutex for an owner that waits: for a pipe, a server or a process. It differs from
// [sync.Mutex] in two ways.
//
//   - Waiters can give up.
//   - Virtual time (testing/synctest) advances when all goroutines wait for channels and
//     timers. A goroutine that waits for a sync.Mutex prevents that.
//
// A sync.Mutex protects data whose use takes no time, such as a map or a counter.
type Turn chan struct{}

// New returns a free turn.
func New() Turn { return make(Turn, 1) }

// Take waits for the turn. It returns the error of ctx if another goroutine still has the turn.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give frees the turn.
func (t Turn) Give() { <-t }
