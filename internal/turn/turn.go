// Package turn is for work that takes its time and that one at a time may do.
package turn

import "context"

// Turn is had by one goroutine at a time. The rule: who waits (for a pipe, a server, a
// process) while others may want the same takes a turn and no mutex, for two reasons.
//
//   - Others can give up. A mutex is waited for whatever happens.
//   - The time of a simulation (testing/synctest) goes on only when everybody waits for
//     channels and timers. Waiting for a mutex does not count, so time would stand still,
//     and with it whatever the mutex's owner waits for.
//
// A mutex is for what takes no time: a map, a counter.
type Turn chan struct{}

// New returns a turn that is free.
func New() Turn { return make(Turn, 1) }

// Take waits for the turn. With an error, which is that of ctx, another goroutine has it.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give lets the next one have it.
func (t Turn) Give() { <-t }
