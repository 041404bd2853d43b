package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Read reads an acceptance as it was written last.
func Read(dir string) (*Acceptance, error) {
	if _, err := ReadSettings(dir); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, File)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	a := &Acceptance{Dir: dir}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	for i := range a.Worlds {
		// An earlier lockbench wrote of the whole alone when and where it ran.
		if w := &a.Worlds[i]; w.Started.IsZero() && slices.ContainsFunc(w.Scenarios, func(s Scenario) bool { return s.Ran > 0 }) {
			w.Started, w.Machine = a.Started, a.Machine
		}
	}
	return a, nil
}

// Is tells whether a folder is an acceptance.
func Is(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, File))
	return err == nil && info.Mode().IsRegular()
}

// Merge puts acceptances of the same scenarios and seeds together in a new folder, world
// by world: one that takes hours is run on a machine, or in a night, of its own. Of a
// world that ran in several the one begun last is taken, whole; say tells which.
func Merge(out string, dirs []string, say func(line string)) (*Acceptance, error) {
	if _, err := os.Stat(filepath.Join(out, File)); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("merge into %s: there is an acceptance already; give a new folder with --out DIR", out)
	}
	sum := &Acceptance{Dir: out}
	from := map[string]*Acceptance{}
	for i, dir := range dirs {
		a, err := Read(dir)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			sum.Settings = a.Settings
			sum.Asked, sum.Again = nil, ""
		case a.Scenarios != sum.Scenarios || a.Seed != sum.Seed:
			return nil, fmt.Errorf("%s and %s are acceptances of different scenarios or seeds", dirs[0], dir)
		case a.Started.After(sum.Started):
			sum.Started, sum.Program, sum.Machine = a.Started, a.Program, a.Machine
		}
		for j := range a.Worlds {
			w := &a.Worlds[j]
			at := slices.IndexFunc(sum.Worlds, func(x World) bool { return x.World == w.World })
			switch {
			case at < 0:
				sum.Worlds, sum.Asked = append(sum.Worlds, *w), append(sum.Asked, a.asked(w.World))
			case sum.Worlds[at].newer(w):
				continue
			default:
				sum.Worlds[at], sum.Asked[at] = *w, a.asked(w.World)
			}
			from[w.World] = a
		}
	}
	var again []string
	for i := range sum.Worlds {
		w := &sum.Worlds[i]
		a := from[w.World]
		if !slices.Contains(again, a.Again) {
			again = append(again, a.Again)
		}
		if w.Started.IsZero() {
			say(fmt.Sprintf("world %s: never ran", w.World))
			continue
		}
		say(fmt.Sprintf("world %s: from %s, begun %s", w.World, a.Dir, stamp(w.Started)))
		if err := os.CopyFS(filepath.Join(out, w.World), os.DirFS(filepath.Join(a.Dir, w.World))); err != nil {
			return nil, fmt.Errorf("merge %s into %s: %w", a.Dir, out, err)
		}
	}
	sum.Again = strings.Join(again, " && ")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("merge into %s: %w", out, err)
	}
	return sum, sum.write()
}

// newer tells whether more is known of a world than another acceptance knows: one that
// never ran gives way.
func (w *World) newer(than *World) bool { return w.Started.After(than.Started) }

// asked is what was asked of a world.
func (a *Acceptance) asked(world string) Asked {
	i := slices.IndexFunc(a.Asked, func(x Asked) bool { return x.World == world })
	if i < 0 {
		return Asked{World: world}
	}
	return a.Asked[i]
}
