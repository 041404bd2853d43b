// Command lockbench is a Jepsen-style test harness for distributed locks. It starts a real lock service, lets clients compete
// for locks, injects faults from a plan generated from a seed, records every operation, and checks the record for clients that
// held one lock at once.
//
//	lockbench run failover
//	lockbench check results/latest
//
// Each command has its own file in this folder.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

func main() {
	abortOnCrash(os.Args[1:])
	os.Exit(program(os.Args[1:]))
}

// abortOnCrash distinguishes crashes from verdicts. A fatal error of the Go runtime, or a panic outside the main
// goroutine, exits with 2, which means "unknown" here. The exit code cannot be changed, but the process can end with
// SIGABRT, which a shell reports as 134.
//
// The process of a simulated trial keeps the default. Its parent treats every crash as a failure of the harness and quotes
// the end of its output, which stacks of all goroutines would hide.
func abortOnCrash(args []string) {
	if len(args) == 0 || !simulates(args[0]) {
		debug.SetTraceback("crash")
	}
}

// simulates reports whether a command is a process of a simulation.
func simulates(command string) bool { return command == simTrialName || command == simSetsName }

// program runs the command and converts every ending to an exit code.
func program(args []string) (code int) {
	defer func() {
		// Deferred calls have removed everything that was started, and the kernel ends the child processes.
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "lockbench: panic: %v\n%s", p, debug.Stack())
			code = report.ExitHarness
		}
	}()
	root := newRoot()
	root.SetArgs(args)
	stdout, stderr := &screen{file: os.Stdout}, &screen{file: os.Stderr}
	// The process of a simulated trial writes to its parent and ends when the parent is gone.
	if len(args) == 0 || !simulates(args[0]) {
		surviveClosedScreens()
		root.SetOut(stdout)
		root.SetErr(stderr)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if ending, ok := endingOf(root, args); ok {
		defer cancelOnSignal(ctx, cancel, func() {
			if ending != "" {
				_, _ = fmt.Fprintln(stderr, "lockbench: "+ending)
			}
		})()
	}

	err := root.ExecuteContext(ctx)
	var exit exitError
	switch lost := stdout.lost(); {
	case lost != nil && (err == nil || errors.As(err, &exit) && exit.err == nil):
		err = lost
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = exitError{report.ExitUnknown, errors.New("interrupted before there was a result")}
	}
	if err == nil {
		return 0
	}
	if errors.As(err, &exit) {
		if exit.err != nil {
			sayTo(stderr)("lockbench: " + err.Error())
		}
		return exit.code
	}
	sayTo(stderr)("lockbench: " + err.Error())
	// A combination that no world supports is wrong usage.
	if scenarios.IsUsage(err) || errors.As(err, new(world.Unsupported)) || errors.As(err, new(run.NotBuilt)) {
		return report.ExitUsage
	}
	return report.ExitHarness
}

// cancelOnSignal requests an orderly end at the first signal. The second one has its default effect and ends the process
// with its children, except SIGHUP: both the kernel and the shell send it when a terminal is closed. Under nohup SIGHUP stays
// ignored. The function that it returns stops it.
func cancelOnSignal(ctx context.Context, cancel, tell func()) (stop func()) {
	asked, hungUp := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hungUp, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-asked:
			signal.Stop(asked)
		case <-hungUp: // the next SIGINT or SIGTERM is the first one
			defer func() {
				<-asked
				signal.Stop(asked)
			}()
		case <-ctx.Done():
			return
		}
		tell()
		cancel()
	}()
	return func() {
		signal.Stop(asked)
		signal.Stop(hungUp)
	}
}

// interrupted is the message of a run after the first signal.
const interrupted = "interrupted: undoing faults, judging what was recorded and removing servers. " +
	"Press Ctrl-C again to exit now; the next run removes the servers."

// endings are the messages of the commands that end in order after the first signal. The default effect of a signal ends all
// others at once, because they have nothing to undo.
var endings = map[string]string{
	"run":           interrupted,
	"matrix":        interrupted,
	"explore":       "interrupted: reporting what was found. Press Ctrl-C again to exit now.",
	"conform":       "interrupted: removing servers. Press Ctrl-C again to exit now; the next run removes the servers.",
	"replay":        "",
	"serve":         "",
	"doctor":        "",
	"guest":         "",
	simTrialName:    "",
	simSetsName:     "",
	sweepDockerName: "",
}

// endingOf returns the message of a command line after the first signal, and whether its command ends in order.
func endingOf(root *cobra.Command, args []string) (ending string, ok bool) {
	c, _, err := root.Find(args)
	if err != nil {
		return "", false
	}
	ending, ok = endings[c.Name()]
	return ending, ok
}

func newRoot() *cobra.Command {
	cobra.EnableCommandSorting = false // commands stand in the order of use
	root := &cobra.Command{
		Use:   "lockbench",
		Short: "Tests whether a distributed lock holds when servers, networks, clocks and clients fail",
		Long: `lockbench is a Jepsen-style test harness for distributed locks. It starts a real lock
service, lets clients compete for locks, injects faults from a plan generated from a
seed, records every operation, and checks the record for clients that held one lock at
once.

Exit codes: 0 as expected, 1 not as expected (check: violated), 2 unknown,
3 the harness failed, 64 wrong usage.`,
		Example: `  lockbench run failover
  lockbench matrix --world sim --scenarios 'failover*'
  lockbench explore failover --lock set-nx --seeds 1..200
  lockbench conform set-nx
  lockbench check results/latest
  lockbench report results/latest
  lockbench serve
  lockbench replay results/latest
  lockbench compare last-night tonight
  lockbench merge shards/1 shards/2
  lockbench list locks redlock
  lockbench doctor`,
		Version:           version,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		SilenceErrors:     true,
		SilenceUsage:      true,
	}
	root.SetVersionTemplate(versionLine() + "\n")
	root.SetFlagErrorFunc(flagError)
	group := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("test", "Test locks:", newRunCommand(), newMatrixCommand(), newExploreCommand(), newConformCommand())
	group("results", "Work with results:", newCheckCommand(), newReportCommand(), newServeCommand(), newReplayCommand(), newCompareCommand(), newMergeCommand())
	group("names", "Look around:", newListCommand(), newDoctorCommand())
	root.AddCommand(newGuestCommand(), newSimTrialCommand(), newSimSetsCommand(), newSweepDockerCommand()) // lockbench starts these itself
	root.SetHelpCommandGroupID("names")
	// An unknown command is wrong usage.
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return usagef("no command is called %q; %s", args[0], didYouMean(args[0], names))
	}
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return notEmpty(c) }
	return root
}

// exitError ends the program with a code. err may be nil if the output is complete.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

// exitWith returns nil for code 0.
func exitWith(code int) error {
	if code == 0 {
		return nil
	}
	return exitError{code: code}
}

func usagef(format string, args ...any) error {
	return exitError{report.ExitUsage, fmt.Errorf(format, args...)}
}

// wants accepts a number of arguments, which what describes. An empty argument is probably an unset variable in a script:
// lockbench run "$SCENARIO".
func wants(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most || slices.Contains(args, "") {
			return usagef("%s wants %s and got %q; see lockbench %s --help", c.Name(), what, args, c.Name())
		}
		return nil
	}
}

func didYouMean(word string, known []string) string { return catalog.DidYouMean(word, known) }
