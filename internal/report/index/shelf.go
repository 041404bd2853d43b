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

// Look returns the current state of the folder. It reads only new and changed results.
func (s Shelf) Look(root fs.FS) (Shelf, error) {
	found, err := look(root)
	if err != nil {
		return s, err
	}
	return Shelf{read(root, found.results, s.runs), found}, nil
}

// Open are the folders of runs without a result, relative, with slashes.
func (s Shelf) Open() []string { return s.found.open }

// Site is the data of a page that is served.
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

// leads is the path of the page of a run.
func (e *entry) leads() string { return "/" + path.Join(e.Dir, e.Page) }
