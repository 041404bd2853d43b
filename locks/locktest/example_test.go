package locktest_test

import (
	"context"
	"fmt"

	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/locks/locktest"
)

// This example finds the broken rules of a lock that grants every request.
func ExampleRun() {
	ctx := context.Background()
	for _, r := range locktest.Run(ctx, locktest.Subject{
		Card:  locks.Card{Name: "no-lock"},
		NoTTL: true,
		Open: func(ctx context.Context, id int) (locks.Locker, error) {
			return control.OpenNoLock(ctx, locks.Client{ID: id})
		},
	}) {
		if r.Err != nil && r.Rule.Exclusion() {
			fmt.Println(r.Rule.Name)
		}
	}
	// Output:
	// exclude
	// one-of-1000
	// in-turn
}

// A correct lock breaks no rule.
func ExampleCheck() {
	ctx := context.Background()
	table := control.NewTable()
	err := locktest.Check(ctx, locktest.Subject{
		Card:  locks.Card{Name: "in-process", Claims: locks.Claims{Strict: true}},
		NoTTL: true,
		Open: func(ctx context.Context, id int) (locks.Locker, error) {
			return table.Open(ctx, locks.Client{ID: id})
		},
	})
	fmt.Println(err)
	// Output: <nil>
}
