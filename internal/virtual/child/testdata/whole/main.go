// Command whole is one simulated trial in a program without a bubble. Built for WebAssembly it is deterministic, because
// Go's runtime has one thread there. It reads its input from standard input and writes the history to standard output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	services "lockbench/internal/service/catalog"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/sim"
	"lockbench/locks/catalog"
)

// Libraries that draw from the global random source use its seed.
//go:debug randseednop=0

func main() {
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func do() error {
	var in trial.Input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return fmt.Errorf("read the input of a trial on standard input: %w", err)
	}
	w := sim.New(sim.Options{Models: services.Models(), Open: catalog.Open, Latency: in.Latency})
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	note := func(line string) { fmt.Fprintln(os.Stderr, line) }
	err := in.Do(context.Background(), w, nil, nil, out, "", note)
	return errors.Join(err, out.Flush())
}
