package bench

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// Row is one line of the table.
type Row struct {
	What    string
	Goal    string // empty: the row has no goal
	Reached string
	Met     bool
	Detail  string
}

// short reports whether a row misses its goal.
func (r Row) short() bool { return r.Goal != "" && !r.Met }

// machine describes the machine of the measurement.
func machine() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// printRows writes the table in Markdown.
func printRows(w io.Writer, rows []Row) error {
	if _, err := fmt.Fprintf(w, "| | goal | reached | |\n| --- | --- | --- | --- |\n"); err != nil {
		return err
	}
	for _, r := range rows {
		mark := ""
		if r.short() {
			mark = "**short** "
		}
		if _, err := fmt.Fprintf(w, "| %s | %s | %s%s | %s |\n", r.What, r.Goal, mark, r.Reached, r.Detail); err != nil {
			return err
		}
	}
	return nil
}

// best calls a function a few times and returns the first and the best time.
func best(clock func() time.Duration, runs int, run func()) (cold, warm time.Duration) {
	for i := range runs {
		from := clock()
		run()
		took := clock() - from
		if i == 0 {
			cold, warm = took, took
		}
		warm = min(warm, took)
	}
	return cold, warm
}

// daytime returns the wall-clock time.
func daytime() time.Duration { return time.Since(began) }

// thousands writes a number with commas.
func thousands(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func round(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
