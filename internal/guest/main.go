package guest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Main runs Serve on this process's standard input and output. While it runs, os.Stdout is standard error, so that other
// prints do not disturb the protocol. Main returns when the host ends the guest.
func Main(ctx context.Context, hello Hello, open OpenFunc) error {
	// The host needs its clients while it undoes faults after Ctrl-C, so guests ignore the signal. lockbench starts them
	// in process groups of their own, but other hosts may not. If the host dies, the input ends.
	signal.Ignore(os.Interrupt)
	defer signal.Reset(os.Interrupt)
	out := os.Stdout
	os.Stdout = os.Stderr
	defer func() { os.Stdout = out }()
	in, err := standardInput()
	if err != nil {
		return fmt.Errorf("serve as a guest: %w", err)
	}
	if err := Serve(ctx, in, out, hello, open); err != nil {
		return fmt.Errorf("serve as a guest: %w", err)
	}
	return nil
}
