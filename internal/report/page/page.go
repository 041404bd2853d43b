// Package page writes report.html: a run as a page that a person reads, in one file
// that needs no network.
//
// It is a function of the results folder alone, so it can be written again at any time, and is
// the same then: findings and counterexamples are in result.json, and drawings are made from the
// histories. Nothing here counts or judges. Its order follows the questions of a reader: what
// came out, and how to run it again; which lock; what happened, as a counterexample and as a
// drawing; what else was found; how it went over time; what all this does not show; and where
// it comes from.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/report"
)

// File is what the page is called in a results folder.
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

// Parts are what every page of lockbench is made with: one look, one script.
type Parts struct {
	CSS template.CSS
	JS  template.JS
}

// Shared are the parts of all pages.
func Shared() Parts { return Parts{CSS: template.CSS(style), JS: template.JS(script)} }

var pages = template.Must(template.Must(template.New("page").Funcs(Words).Parse(markup)).Parse(lockMarkup))

// barsAll is how many bars all drawings of a page have together, so that it opens at
// once and stays below two megabytes, however many locks there are.
const barsAll = 6000

// barsMost is how many one lock has at most: more nobody can tell apart.
const barsMost = 1500

// Lock is one lock's part of a page, made from its history, which need not be kept.
type Lock lockView

// Draw makes the part of a lock of a run of so many locks. Of a lock without a history, h is nil.
func Draw(l *report.Lock, h *history.History, locks int) Lock {
	return Lock(newLockView(l, h, min(barsAll/max(locks, 1), barsMost)))
}

// Save writes the page of a bundle, which has a result, into its folder. locks are the parts of
// the result's locks.
func Save(b *report.Bundle, locks []Lock) error {
	v := newView(b)
	for i, l := range locks {
		l.Files = lockFiles(b, &b.Result.Locks[i])
		v.Locks = append(v.Locks, lockView(l))
	}
	return b.Write(File, func(w io.Writer) error {
		if err := pages.Execute(w, v); err != nil {
			return fmt.Errorf("write the report of %s: %w", b.Dir, err)
		}
		return nil
	})
}

// WriteTo writes the page of the bundle in a folder again, from its result and its histories.
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
	for i := range b.Result.Locks {
		l := &b.Result.Locks[i]
		var h *history.History
		trouble := ""
		if path, ok := paths[l.Lock]; ok {
			var err error
			// One at a time: a history can be large.
			if h, err = history.ReadFile(path); err != nil {
				trouble = "The history could not be read, so nothing is drawn: " + report.OneLine(err.Error())
				h = nil
			}
		}
		part := Draw(l, h, len(b.Result.Locks))
		part.Trouble = trouble
		locks = append(locks, part)
	}
	return Save(b, locks)
}

// WritePart writes the part of a lock alone, from a history that may go on. The page around
// it has the patterns of [Patterns].
func WritePart(w io.Writer, l *report.Lock, h *history.History) error {
	if err := pages.ExecuteTemplate(w, "lock", newLockView(l, h, barsMost)); err != nil {
		return fmt.Errorf("write what is known of %s: %w", l.Lock, err)
	}
	return nil
}

// Patterns are what bars are filled with, for a page with drawings.
func Patterns() template.HTML {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, "defs", nil); err != nil {
		panic(err) // the template has no fields
	}
	return template.HTML(b.String())
}

// link is a way to a file of the bundle.
type link struct{ Name, Href string }

// files are those of a folder of the bundle that are there, as relative links.
func files(dir string, names ...string) []link {
	var links []link
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			links = append(links, link{name, Href(name)})
		}
	}
	return links
}

// lockFiles are the files of a lock.
func lockFiles(b *report.Bundle, l *report.Lock) []link {
	folder := report.FolderName(l.Lock)
	return files(b.Dir, path.Join(folder, report.HistoryFile), path.Join(folder, report.DrawingFile),
		path.Join(folder, "sim.json"), path.Join(folder, report.LogsFolder))
}

// Href makes a path of the bundle fit for a link: what FolderName escapes with a per
// cent sign would be taken for an escape of the address.
func Href(path string) string {
	return strings.NewReplacer("%", "%25", "+", "%2B", "#", "%23", "?", "%3F").Replace(path)
}

// textOf is a text file of the bundle; empty if there is none.
func textOf(dir, name string) string {
	text, err := fs.ReadFile(os.DirFS(dir), name)
	if err != nil {
		return ""
	}
	const most = 64 << 10
	return strings.ToValidUTF8(string(text[:min(len(text), most)]), "?")
}
