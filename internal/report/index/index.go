// Package index writes results/index.html: all runs of a results folder on one page,
// in one file that needs no network.
//
// It reads result.json only. The page keeps the data of each run with size and time of its file, so that only new and
// changed files are read again.
package index

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// File is the name of the page in a results folder.
const File = "index.html"

var (
	//go:embed index.tmpl.html
	markup string
	//go:embed index.css
	style string
	//go:embed index.js
	script string
)

var pages = template.Must(template.New("index").Funcs(page.Words).Parse(markup))

// Marks of the page: its generator, and the data that it keeps about runs.
const (
	generator  = `<meta name="generator" content="lockbench index">`
	knownBegin = `<script type="application/json" id="known">`
	knownEnd   = `</script>`
)

// format is the format of the data in the page. Other formats are ignored.
const format = 2

// known is the data in the page.
type known struct {
	Format int     `json:"format"`
	Runs   []entry `json:"runs"`
}

// attemptsMax bounds how often the page is written while other runs end.
const attemptsMax = 100

// Write writes the index of a results folder. If runs end at the same time, each writes it, and looks for new results
// after that, so that no run is left out.
func Write(root string) error {
	kept, err := readKnown(filepath.Join(root, File))
	if err != nil {
		return err
	}
	folder := os.DirFS(root)
	shelf, err := Shelf{runs: kept}.Look(folder)
	for range attemptsMax {
		if err != nil {
			return fmt.Errorf("write the index of %s: %w", root, err)
		}
		if err := report.WriteFile(filepath.Join(root, File), func(w io.Writer) error { return shelf.write(w, nil) }); err != nil {
			return err
		}
		before := shelf
		if shelf, err = before.Look(folder); err == nil && slices.Equal(before.results, shelf.results) && slices.Equal(before.campaigns, shelf.campaigns) {
			return nil
		}
	}
	return fmt.Errorf("write the index of %s: runs end faster than it can be written; the next run writes it", root)
}

// readKnown reads the data in a page. A file of another program is an error.
func readKnown(path string) ([]entry, error) {
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the index of all runs: %w", err)
	}
	if !bytes.Contains(text[:min(len(text), 1024)], []byte(generator)) {
		return nil, fmt.Errorf("write %s: it exists and is not an index of lockbench; move it away to get one", path)
	}
	_, rest, _ := bytes.Cut(text, []byte(knownBegin))
	data, _, _ := bytes.Cut(rest, []byte(knownEnd))
	var k known
	if json.Unmarshal(data, &k) != nil || k.Format != format {
		return nil, nil // all is read again
	}
	return k.Runs, nil
}
