// Package bench measures how fast histories are judged and compares the results with goals. `make bench` runs it;
// `go test` only checks the measured histories.
//
// Each [Row] has a goal. If a goal is a ratio, both sides are measured in the same run. Ratios to porcupine use the same
// history, and porcupine in its best form: one search for each lock. Work that may need unlimited time or memory runs in
// a separate process with limits. If it exceeds a limit, the table has the limit and says so.
//
// Times are the best of several runs with memory already allocated ("warm"), because these are repeatable. The cost of the
// first run ("cold") is next to them. Ratios to porcupine compare wall-clock times. Other rows have processor time where
// the system reports it.
package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	seedFlag  = flag.Uint64("seed", 7, "from which the histories are made")
	caseFlag  = flag.String("case", "", "of cost and million only the cases whose names match")
	update    = flag.Bool("update", false, "write what was measured into docs/contributing/bench.md")
	limitFlag = flag.Duration("limit", time.Minute, "how long porcupine may take for a history, and a checker of the time that is computed")
)

// roleVariable is the environment variable with the role of a process that a benchmark starts.
const roleVariable = "LOCKBENCH_BENCH_CHILD"

func TestMain(m *testing.M) {
	var serve func() error
	switch os.Getenv(roleVariable) {
	case "":
		goleak.VerifyTestMain(m)
		return
	case "porcupine":
		serve = func() error { return servePorcupine(os.Stdin, os.Stdout) }
	case "cost":
		serve = func() error { return serveCost(os.Stdin, os.Stdout) }
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child returns the command that runs this program in a role.
func child(ctx context.Context, role string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd
}

// Options are the settings of a run.
type Options struct {
	Quick bool // a tenth of everything, for a quick result
	Seed  uint64
	Limit time.Duration // for porcupine on a history, and for a checker
}

// scale returns the number of operations to use instead of n.
func (o Options) scale(n int) int {
	if o.Quick {
		return n / 10
	}
	return n
}

func (o Options) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// BenchmarkChecker measures all rows, prints the table, and fails if a goal is missed.
//
//	go test -run '^$' -bench '^BenchmarkChecker$' -benchtime 1x -timeout 2h ./checker/bench
//	go test ... -bench '^BenchmarkChecker$/^cost$' -short ./checker/bench -limit 10s          one part, a tenth of it
func BenchmarkChecker(b *testing.B) {
	o := Options{Quick: testing.Short(), Seed: *seedFlag, Limit: *limitFlag}
	var all []Row
	for _, part := range []struct {
		name string
		rows func(context.Context, Options) ([]Row, error)
	}{
		{"porcupine", ratios},
		{"reading", reading},
		{"cost", costRows},
		{"million", millions},
	} {
		b.Run(part.name, func(b *testing.B) {
			var rows []Row
			for b.Loop() {
				var err error
				if rows, err = part.rows(b.Context(), o); err != nil {
					b.Fatal(err)
				}
			}
			missed := 0
			for _, r := range rows {
				if r.short() {
					missed++
					b.Errorf("%s: %s, goal %s", r.What, r.Reached, r.Goal)
				}
			}
			b.ReportMetric(float64(missed), "missed")
			all = append(all, rows...)
		})
	}
	if len(all) == 0 {
		return // no row was requested
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n%s\n\n", machine())
	if err := printRows(&table, all); err != nil {
		b.Fatal(err)
	}
	fmt.Print(table.String())
	if *update {
		if err := writePage(table.String()); err != nil {
			b.Fatal(err)
		}
	}
}

// writePage writes the table into docs/contributing/bench.md.
func writePage(table string) error {
	const page, begins, ends = "../../docs/contributing/bench.md", "<!-- measured -->\n", "<!-- /measured -->"
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begins)
	_, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		return fmt.Errorf("%s has no place for the table", page)
	}
	return os.WriteFile(page, []byte(before+begins+table+"\n"+ends+after), 0o644)
}
