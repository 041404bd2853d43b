// Package page writes report.html: a run as a page in one file that needs no network.
//
// The page is a function of the results folder alone, so writing it again gives the same page: findings and
// counterexamples are in result.json, and drawings are made from the histories. Nothing here counts or judges. The page
// has the result and the command that repeats the run, a table of the locks, for each lock the counterexample with its
// drawing, all findings and the run over time, then the limits of the run and its provenance.
//
// The page of a run in progress is the same page, made from what the histories have so far.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// File is the name of the page in the folder of a run.
const File = "report.html"

var (
	//go:embed page.tmpl.html
	markup string
	//go:embed lock.tmpl.html
	lockMarkup string
	//go:embed style.css
	style string
	//go:embed script.js
	script string
)

// Parts are the style and the script of all pages of lockbench.
type Parts struct {
	CSS template.CSS
	JS  template.JS
}

// Shared are the parts of all pages.
func Shared() Parts { return Parts{CSS: template.CSS(style), JS: template.JS(script)} }

var pages = template.Must(template.Must(template.New("page").Funcs(Words).Parse(markup)).Parse(lockMarkup))

// barsAll bounds the bars of all drawings of a page, so that the page stays below two megabytes.
const barsAll = 6000

// barsMost bounds the bars of one lock, because more cannot be told apart.
const barsMost = 1500

// Draw returns the part of the page for a lock of a run with a number of locks. If the lock has no history, h is nil.
// soFar means that the history is still being written.
func Draw(l *report.Lock, h *history.History, locks int, soFar bool) Lock {
	return draw(l, h, min(barsAll/max(locks, 1), barsMost), soFar)
}

// Save writes the page of a bundle with a result into its folder. locks are the parts of the result's locks.
func Save(b *report.Bundle, locks []Lock) error {
	return b.Write(File, newView(os.DirFS(b.Dir), b.Result, locks).writeTo)
}

// WriteUnfinished writes the page of a run that has no result yet. Its result has what was found so far. ended is empty
// as long as the run goes on, and then says how it ended; while it goes on, the page reloads itself.
func WriteUnfinished(w io.Writer, folder fs.FS, r *report.Result, locks []Lock, ended string) error {
	v := newView(folder, r, locks)
	v.Outcome, v.OutcomeKey, v.Live, v.Ended = "in progress", "unsure", ended == "", ended
	v.Lead, v.Exit = "", ""
	if ended != "" {
		v.Outcome = "ended without a result"
	}
	v.Facts = facts(r, report.Seconds(r.DurationS)+" so far")
	verdict := slices.IndexFunc(report.Columns, func(c report.Column) bool { return c.Title == report.VerdictTitle })
	for i := range v.Table.Rows {
		row := &v.Table.Rows[i]
		if r.Locks[i].Verdict != checker.Violated {
			row.Key, row.Cells[verdict].Text = report.Untested.Look().Color, notYet
		}
		row.Cells[len(row.Cells)-1].Text = "" // what is expected is not known here
	}
	return v.writeTo(w)
}

func (v *view) writeTo(w io.Writer) error {
	if err := pages.Execute(w, v); err != nil {
		return fmt.Errorf("write the report of %s: %w", v.Title, err)
	}
	return nil
}

// WriteTo writes the page of a folder again, from its result and its histories.
func WriteTo(dir string) error {
	b, err := report.Load(dir)
	if err != nil {
		return err
	}
	if b.Result == nil {
		return fmt.Errorf("write the report of %s: it has no %s", b.Dir, report.ResultFile)
	}
	paths := map[string]string{}
	for _, h := range b.Histories {
		paths[h.Lock] = h.Path
	}
	var locks []Lock
	for l := range b.Result.All() {
		var h *history.History
		trouble := ""
		if path, ok := paths[l.Lock]; ok {
			var err error
			// A history can be large, so only one is in memory at a time.
			if h, err = history.ReadFile(path); err != nil {
				trouble = "The history could not be read, so nothing is drawn: " + report.OneLine(err.Error())
				h = nil
			}
		}
		part := Draw(l, h, len(b.Result.Locks), false)
		part.Trouble = trouble
		locks = append(locks, part)
	}
	return Save(b, locks)
}

// link is a link to a file of the bundle.
type link struct{ Name, Href string }

// files are links to the files that exist.
func files(dir fs.FS, names ...string) []link {
	var links []link
	for _, name := range names {
		if _, err := fs.Stat(dir, name); err == nil {
			links = append(links, link{name, Href(name)})
		}
	}
	return links
}

// lockFiles are links to the files of a lock.
func lockFiles(dir fs.FS, l *report.Lock) []link {
	folder := report.FolderName(l.Lock)
	return files(dir, path.Join(folder, report.HistoryFile), path.Join(folder, report.DrawingFile),
		path.Join(folder, "sim.json"), path.Join(folder, report.LogsFolder))
}

// Href escapes a path for a link. FolderName writes per cent signs.
func Href(path string) string {
	return strings.NewReplacer("%", "%25", "+", "%2B", "#", "%23", "?", "%3F").Replace(path)
}

// textOf is the beginning of a text file, or empty.
func textOf(dir fs.FS, name string) string {
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return ""
	}
	const most = 64 << 10
	return strings.ToValidUTF8(string(text[:min(len(text), most)]), "?")
}
