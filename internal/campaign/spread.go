package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/world/external"
	"lockbench/locks/catalog"
)

// FileVersion is what a file that describes a campaign begins with.
const FileVersion = "campaign/1"

// Asking is a campaign as a file describes it: worlds × scenarios × locks × seeds.
type Asking struct {
	Lockbench string   `yaml:"lockbench"`
	Worlds    []string `yaml:"worlds"`
	Scenarios []string `yaml:"scenarios"`
	Locks     []string `yaml:"locks"`
	// Seed is that of the first run of each scenario in each world, and Seeds how many there are.
	Seed  uint64 `yaml:"seed"`
	Seeds int    `yaml:"seeds"`
	// Budget is how long one part may take.
	Budget string `yaml:"budget"`
	// Servers are those of world external, and these files and this name what the flags of their
	// names are. Paths that do not begin at the root are beside the file.
	Servers []string `yaml:"servers"`
	Hooks   string   `yaml:"hooks"`
	CA      string   `yaml:"tls-ca"`
	Cert    string   `yaml:"tls-cert"`
	Key     string   `yaml:"tls-key"`
	TLSName string   `yaml:"tls-name"`
	// Expect, Like and Expectations are what the flags of their names are.
	Expect       []string `yaml:"expect"`
	Like         []string `yaml:"like"`
	Expectations string   `yaml:"expectations"`
}

// seedsMost bounds the runs of one scenario, each of which leaves a folder.
const seedsMost = 100_000

// ReadAsking reads a file. Its errors are wrong usage.
func ReadAsking(path string) (a Asking, err error) {
	text, err := regular.ReadFile(path)
	if err != nil {
		return a, wrong(path, "it cannot be read: "+err.Error(), "")
	}
	var keys map[string]any
	if err := yaml.Unmarshal(text, &keys); err != nil {
		return a, wrong(path, report.OneLine(err.Error()), "")
	}
	var known []string
	for i := range reflect.TypeFor[Asking]().NumField() {
		known = append(known, reflect.TypeFor[Asking]().Field(i).Tag.Get("yaml"))
	}
	for key := range keys {
		if !slices.Contains(known, key) {
			return a, wrong(path, fmt.Sprintf("a campaign has no key %q", key), catalog.DidYouMean(key, known))
		}
	}
	a.Seed, a.Seeds = 1, 1
	if err := yaml.UnmarshalWithOptions(text, &a, yaml.Strict()); err != nil {
		return a, wrong(path, report.OneLine(err.Error()), "")
	}
	for _, file := range []*string{&a.Hooks, &a.CA, &a.Cert, &a.Key} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	elsewhere := slices.Contains(a.Worlds, external.Name)
	switch {
	case a.Lockbench != FileVersion:
		return a, wrong(path, fmt.Sprintf("it says lockbench: %q", a.Lockbench), "the first line is lockbench: "+FileVersion)
	case elsewhere && len(a.Servers) == 0:
		return a, wrong(path, "world external is about servers that run already, and none are named", "write servers: [redis://HOST:PORT]")
	case !elsewhere && !reflect.DeepEqual(a.given(), external.Given{}):
		return a, wrong(path, "servers, hooks and tls-... are about world external, which is not among worlds", "write worlds: [external]")
	case len(a.Worlds) == 0:
		return a, wrong(path, "it names no worlds", "write worlds: [sim]")
	case a.Seeds < 1 || a.Seeds > seedsMost:
		return a, wrong(path, fmt.Sprintf("seeds is %d", a.Seeds), fmt.Sprintf("it is how many, from 1 to %d; for more there is lockbench explore", seedsMost))
	}
	return a, nil
}

// Settings are those of the campaign that is asked for.
func (a Asking) Settings() Settings {
	s := Settings{
		Kind: SpreadKind, Scenarios: strings.Join(a.Scenarios, ","), Locks: strings.Join(a.Locks, ","), Seed: a.Seed, Each: true,
	}
	s.Expect, s.Like, s.File = a.Expect, a.Like, a.Expectations
	s.Servers = a.given()
	return s
}

func (a Asking) given() external.Given {
	return external.Given{Servers: a.Servers, Hooks: a.Hooks, CA: a.CA, Cert: a.Cert, Key: a.Key, TLSName: a.TLSName}
}

// OpenOrCreate goes on with the campaign in a folder, or begins it there: a part that is done
// again, by an engine that has lost its machine, goes on where it was. The folder
// of another campaign is refused.
func OpenOrCreate(dir string, s Settings, worlds []World) (*Campaign, error) {
	if !Is(dir) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of a campaign: %w", err)
		}
		s.Campaign = Schema
		c := &Campaign{Settings: s, Worlds: worlds, Dir: dir}
		return c, c.writeJSON()
	}
	was, err := Open(dir, s.Kind)
	if err != nil {
		return nil, err
	}
	now := &Campaign{Settings: s, Worlds: worlds}
	what := was.differs(now)
	if what == "" && was.Shard != s.Shard {
		what = "shard: " + was.Shard.String() + " and " + s.Shard.String()
	}
	if what != "" {
		return nil, wrong("--out", fmt.Sprintf("%s has another campaign: it differs in %s", dir, what), "give a new folder, or remove that one")
	}
	return was, nil
}

// mine tells whether a run belongs to this part. The scenarios change places from round to round,
// so that no part has all runs of a slow one.
func (c *Campaign) mine(world *World, row, round int) bool {
	if !c.byRuns() {
		return true
	}
	piece := 0
	for i := range c.Worlds {
		w := &c.Worlds[i]
		if w.World == world.World {
			piece += round*len(w.Rows) + (row+round)%len(w.Rows)
			break
		}
		for j := range w.Rows {
			piece += w.Rows[j].Asked
		}
	}
	return c.Shard.Has(piece)
}

// Share notes how many runs of each row other parts do.
func (c *Campaign) Share() {
	for i := range c.Worlds {
		w := &c.Worlds[i]
		for j := range w.Rows {
			r := &w.Rows[j]
			r.Elsewhere = 0
			for round := range r.Asked {
				if !c.mine(w, j, round) {
					r.Elsewhere++
				}
			}
		}
	}
}

// PartFolder is where a part lies below the folder of its campaign.
func PartFolder(s Settings) string {
	if s.Shard.N == 0 {
		return "whole"
	}
	return fmt.Sprintf("%0*d-of-%d", len(fmt.Sprint(s.Shard.N)), s.Shard.I, s.Shard.N)
}

// Done tells whether everything that belongs to this part was run.
func (c *Campaign) Done() bool {
	for i := range c.Worlds {
		for j := range c.Worlds[i].Rows {
			if !c.Worlds[i].Rows[j].whole() {
				return false
			}
		}
	}
	return true
}

// PartExitCode is what a part ends with: an engine does one again that does not end with 0, and doing
// it again changes no verdict. What came out of all is for merge to say.
func (c *Campaign) PartExitCode() int {
	for _, w := range c.Worlds {
		for _, r := range w.Rows {
			for _, o := range r.Odd {
				if o.Harness {
					return report.ExitHarness
				}
			}
		}
	}
	if !c.Done() {
		return report.ExitUnknown
	}
	return report.ExitExpected
}

// Parts are the folders of parts below the folder of a campaign, or that folder itself.
func Parts(dir string) []string {
	if Is(dir) {
		return []string{dir}
	}
	var parts []string
	all, _ := filepath.Glob(filepath.Join(dir, "*-of-*"))
	for _, part := range all {
		if _, err := os.Stat(filepath.Join(part, File)); !errors.Is(err, fs.ErrNotExist) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return []string{dir}
	}
	return parts
}
