package guest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Main is Serve on this process's standard input and output, for programs that
// are guests. While it runs, what others print with os.Stdout goes to standard
// error, where it does no harm. It returns when the host has ended the guest.
func Main(ctx context.Context, hello Hello, open OpenFunc) error {
	// The host decides, not Ctrl-C: it heals and winds up first, and it needs its clients
	// for that. lockbench puts them into groups of their own; others who start us may not.
	// If the host dies, our input ends.
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
