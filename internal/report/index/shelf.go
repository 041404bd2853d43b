package index

import (
	"io"
	"io/fs"
	"path"
)

// Shelf is the content of a results folder, for programs that show it repeatedly. The zero Shelf is empty.
type Shelf struct {
	runs      []entry
	results   []result
	campaigns []string // the pages of campaigns, relative, with slashes
	open      []string // folders of runs without a result.json: in progress, or ended without one
}

// Look returns the current content of the folder. It reads only new and changed results.
func (s Shelf) Look(root fs.FS) (Shelf, error) {
	found, err := look(root)
	if err != nil {
		return s, err
	}
	found.runs = read(root, found.results, s.runs)
	return found, nil
}

// Open are the folders of runs without a result, relative, with slashes.
func (s Shelf) Open() []string { return s.open }

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
	return s.write(w, &site)
}

// leads is the path of the page of a run.
func (e *entry) leads() string { return "/" + path.Join(e.Dir, e.Page) }
