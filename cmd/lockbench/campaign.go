package main

import (
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/world"
	"lockbench/internal/world/external"
	"lockbench/scenarios"
)

// campaignFlags are what matrix and acceptance have in common.
type campaignFlags struct {
	worldFlags
	askedFlags
	scenarios, out, resume string
	seed                   uint64
	parallel               int
	budget                 time.Duration
	elsewhere              *external.Options // servers of somebody else's; nil: none
}

func (f *campaignFlags) addCampaign(c *cobra.Command, kind, budget string) {
	fl := c.Flags()
	fl.StringVar(&f.scenarios, "scenarios", "", "names or globs, or files that end in .yaml (default: all)")
	f.add(c)
	f.addAsked(c)
	fl.IntVar(&f.parallel, "parallel", 0, "how many locks of a scenario run side by side (default: what the machine carries)")
	fl.DurationVar(&f.budget, "budget", 0, "how long it may take"+budget+"; no run is begun that is not expected to fit")
	fl.StringVar(&f.out, "out", "results", "where the folder is made")
	fl.StringVar(&f.resume, "resume", "", "go on with the "+kind+" in this folder, as it was begun")
	completeList(c, "scenarios", scenarios.Names)
}

// check refuses flags that make no sense; budget is an example of one, and wholes are
// the flags that want a number of at least 1.
func (f *campaignFlags) check(c *cobra.Command, budget string, wholes ...string) error {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if err := notEmpty(c, names...); err != nil {
		return err
	}
	if c.Flags().Changed("budget") && f.budget <= 0 {
		return usagef("--budget wants more than nothing, such as %s", budget)
	}
	if f.budget > scenarios.RunMax {
		return usagef("--budget: %v is too long: at most %v", f.budget, scenarios.RunMax)
	}
	for _, name := range wholes {
		if n, _ := c.Flags().GetInt(name); c.Flags().Changed(name) && n < 1 {
			return usagef("--%s wants a number of at least 1, not %d", name, n)
		}
	}
	if err := f.programsExist(); err != nil {
		return err
	}
	return f.ReadFile()
}

// open reads the campaign that is to go on; given flags that would change it are refused.
func (f *campaignFlags) open(c *cobra.Command, article, kind string, given ...string) (*campaign.Campaign, error) {
	for _, name := range append(given, "expect", "like", "expectations") {
		if c.Flags().Changed(name) {
			return nil, usagef("--resume goes on with %s %s as it was begun, and --%s would change it; leave it out", article, kind, name)
		}
	}
	b, err := campaign.Open(f.resume, kind)
	if err != nil {
		return nil, usageError{err.Error()}
	}
	return b, nil
}

// settings are what is asked for anew.
func (f *campaignFlags) settings(kind string) campaign.Settings {
	return campaign.Settings{
		Kind: kind, Scenarios: f.scenarios, Seed: f.seed, Asked: f.Asked, Servers: f.given,
		Started: time.Now().UTC().Truncate(time.Second), Program: strings.TrimSpace(versionLine()), Machine: run.Machine(),
	}
}

// pick finds a world that is ready.
func (f *campaignFlags) pick(c *cobra.Command, name string) (world.World, []*run.NotReady, error) {
	o := f.options(c)
	o.SimTrial = simTrial()
	if name == external.Name {
		o.External = f.elsewhere
	}
	return run.Pick(c.Context(), name, o)
}

// meant reads which servers of somebody else's are meant.
func (f *campaignFlags) meant() error {
	var o run.WorldOptions
	err := f.reach(&o)
	f.elsewhere = o.External
	return err
}

// place is a world with what runs in it.
func (f *campaignFlags) place(w world.World, chosen campaign.Choices) campaign.Place {
	return campaign.Place{Do: chosen.Doing(w, f.given, f.parallel, strings.TrimSpace(versionLine()))}
}

// sayWithin prints texts in lines that fit into the terminal. A line that is too wide goes on below, indented.
func sayWithin(c *cobra.Command) func(text string) {
	say := sayTo(c.OutOrStdout())
	columns := report.TerminalWidth(c.OutOrStdout())
	const indent = "    "
	return func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			if utf8.RuneCountInString(line) <= columns {
				say(line)
				continue
			}
			first, rest, _ := strings.Cut(folded(strings.TrimSpace(line), 0, columns), "\n")
			say(first)
			if rest != "" {
				say(indent + folded(rest, len(indent), columns))
			}
		}
	}
}

// sayResume prints the command that continues a campaign. A command is not broken between lines.
func sayResume(c *cobra.Command, command string) {
	say := sayTo(c.OutOrStdout())
	const before = "goes on after an interruption with:"
	if utf8.RuneCountInString(before+" "+command) <= report.TerminalWidth(c.OutOrStdout()) {
		say(before + " " + command)
		return
	}
	say(before)
	say("  " + command)
}

// endCampaign tells where a campaign lies and what came out, which there may be also if
// something failed.
func endCampaign(c *cobra.Command, b *campaign.Campaign, failed error) error {
	if kind := filepath.Dir(b.Dir); filepath.Base(kind) == b.Kind { // it lies in a results folder
		writeIndex(c, filepath.Dir(kind))
	}
	say := sayTo(c.OutOrStdout())
	text := sayWithin(c)
	if tables := b.Tables(report.TerminalWidth(c.OutOrStdout())); len(tables) > 0 {
		say("")
		for _, line := range tables {
			text(line)
		}
		say("")
	}
	if b.Each {
		text(b.Counts())
		say("Summary  " + filepath.Join(b.Dir, campaign.AcceptanceFile))
	} else {
		for _, line := range b.Remarks() {
			text(line)
		}
		for _, page := range b.Pages() {
			say("Report   " + page)
		}
	}
	if failed != nil {
		return failed
	}
	text(b.ExitLine())
	return exitWith(b.ExitCode())
}
