package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/nemesis"
)

// tryAll tries every fault in all its forms on the topologies, each alone on a cluster of its own, and
// prints a row when a fault has been everywhere.
func tryAll(ctx context.Context, out io.Writer, on tried, topologies []string) error {
	_, _ = fmt.Fprintf(out, "World %s on %s/%s with %d processors: %s. From the call until a probe saw it bite, and\n"+
		"from the call to heal until one saw it gone.\n\n| fault | %s |\n|%s\n",
		on.world.Name(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), on.world.About(),
		strings.Join(topologies, " | "), strings.Repeat(" --- |", 1+len(topologies)))
	steps, err := forms()
	if err != nil {
		return err
	}
	notes := reasons{number: map[string]int{}}
	failed := false
	for _, step := range steps {
		name, cells := "", make([]string, len(topologies))
		for k, topology := range topologies {
			got, err := on.try(ctx, topology, step)
			if err != nil {
				return fmt.Errorf("try %s on %s: %w", step.Fault, topology, err)
			}
			name = got.Fault + momentOf(step)
			switch {
			case got.NA != "":
				cells[k] = "n/a" + notes.mark(got.NA)
			case got.Failed != "":
				cells[k] = "**failed**" + notes.mark(got.Failed)
				failed = true
			default:
				cells[k] = roughly(got.ToBite) + ", " + roughly(got.ToHeal)
			}
		}
		_, _ = fmt.Fprintf(out, "| %s | %s |\n", name, strings.Join(cells, " | "))
	}
	_, _ = fmt.Fprintln(out)
	for k, text := range notes.texts {
		_, _ = fmt.Fprintf(out, "%d. %s\n", k+1, text)
	}
	if failed {
		return exitWith(report.ExitUnexpected)
	}
	return nil
}

// forms are the faults as they are tried: each in its usual form, and in others if it has some.
func forms() ([]nemesis.Step, error) {
	var steps []nemesis.Step
	for _, entry := range nemesis.All() {
		for _, form := range append([]nemesis.Step{entry.Try}, entry.Also...) {
			entry.Try = form
			step, err := tryStep(entry, "", nil)
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		}
	}
	return steps, nil
}

// momentOf says at which request of a client a step strikes, if it strikes at one.
func momentOf(s nemesis.Step) string {
	if s.Request == 0 {
		return ""
	}
	return fmt.Sprintf(", %s, request %d", s.When, s.Request)
}

// reasons are why cells of the table have no times, each said once.
type reasons struct {
	number map[string]int
	texts  []string
}

// mark is the number of a reason.
func (r *reasons) mark(text string) string {
	if r.number[text] == 0 {
		r.texts = append(r.texts, text)
		r.number[text] = len(r.texts)
	}
	return fmt.Sprintf(" (%d)", r.number[text])
}

// roughly is a time as exactly as one try can tell it.
func roughly(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "< 1 ms"
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
