package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"lockbench/internal/proof"
	"lockbench/internal/shellword"
)

// printProof prints a line for the lock, one for its twin, and the story.
func printProof(say func(string), p *proof.Proof, story []string, world string) {
	say(fmt.Sprintf("%s  %s", p.Lock, p.Mistake))
	known := ""
	if p.Known != "" {
		known = ", found in " + p.Known
	}
	say(fmt.Sprintf("  bug %s%s", p.Bug, known))
	say(fmt.Sprintf("  wrong  %s in %s: %s in %d of %s (%d of %s violated), %.1f s",
		p.Lock, p.Scenario, p.Class, p.Seen, count(p.Runs, "run"), p.Violating, count(p.Episodes, "episode"), p.Seconds))
	undecided := ""
	if p.Undecided > 0 {
		undecided = fmt.Sprintf(", %d undecided", p.Undecided)
	}
	say(fmt.Sprintf("  right  %s: accused in %d of %s%s", p.Twin, p.Accused, count(p.TwinRuns, "run"), undecided))
	if !p.Shown() && len(p.Found) > 0 {
		say("  found in its place: " + strings.Join(p.Found, "; "))
	}
	if len(p.AccusedOf) > 0 {
		say("  accused of: " + strings.Join(p.AccusedOf, "; "))
	}
	if p.NotShown != "" {
		say("  not shown yet: " + p.NotShown)
	}
	for _, text := range p.Failed {
		say("  " + text)
	}
	if len(story) > 0 {
		say("")
		for _, line := range story {
			say(line)
		}
	}
	if p.First > 0 {
		say(fmt.Sprintf("\nAgain    lockbench run %s --world %s --seed %d --locks %s", shellword.Quote(p.Scenario), world, p.First, shellword.Quote(p.Lock+","+p.Twin)))
	}
	say("")
}

// printProofs prints all as a table.
func printProofs(out io.Writer, proofs []*proof.Proof) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "BUG\tLOCK\tSCENARIO\tCLASS\tSEEN\tTWIN\tACCUSED\tTIME\t")
	for _, p := range proofs {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d of %d\t%s\t%d of %d\t%.0f s\t%s\n",
			p.Bug, p.Lock, p.Scenario, p.Class, p.Seen, p.Runs, p.Twin, p.Accused, p.TwinRuns, p.Seconds, p.Word())
	}
	_ = t.Flush()
	for _, p := range proofs {
		for _, text := range p.Remarks() {
			_, _ = fmt.Fprintln(out, p.Lock+": "+text)
		}
	}
}

// conclusionOf says in a line how all went.
func conclusionOf(proofs []*proof.Proof, code int) string {
	shown, open, accused := 0, 0, 0
	for _, p := range proofs {
		switch {
		case p.Shown():
			shown++
		case p.NotShown != "":
			open++
		}
		if p.Accused > 0 {
			accused++
		}
	}
	line := fmt.Sprintf("Exit %d: %d of %s shown", code, shown, count(len(proofs), "wrong lock"))
	if open > 0 {
		line += fmt.Sprintf(", %d known as not shown yet", open)
	}
	if accused > 0 {
		return line + fmt.Sprintf("; the twins of %d accused.", accused)
	}
	return line + "; no twin accused."
}
