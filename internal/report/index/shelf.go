package index

import (
	"io"
	"io/fs"
	"path"
)

// Shelf caches what was read of a results folder, for programs that show it repeatedly. The
// zero Shelf is empty.
type Shelf struct {
	runs  []entry
	found shelf
}

// Look looks what is in the folder now, and reads only what is new or changed.
func (s Shelf) Look(root fs.FS) (Shelf, error) {
	found, err := look(root)
	if err != nil {
		return s, err
	}
	return Shelf{read(root, found.results, s.runs), found}, nil
}

// Runs is how many runs have a result.
func (s Shelf) Runs() int { return len(s.runs) }

// Open are the folders of the runs that have none, relative, with slashes.
func (s Shelf) Open() []string { return s.found.open }

// Site is what the page has besides the runs where a program serves it.
type Site struct {
	Live []Live
}

// Live is a run without a result.
type Live struct {
	Name, Dir, Href, Begun string
	// Gone says that no process works on it.
	Gone bool
}

// Page writes the page of all runs for a site.
func (s Shelf) Page(w io.Writer, site Site) error {
	return write(w, s.runs, s.found.campaigns, &site)
}

// Leads is what leads to more of a run, for a link from the top of the site.
func (e *entry) leads() string { return "/" + path.Join(e.Dir, e.Page) }
