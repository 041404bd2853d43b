package site

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// kinds are what a browser is told of a file. It makes what is not among them a download.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".json": "application/json", ".jsonl": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8",
	".yaml": "text/plain; charset=utf-8", ".yml": "text/plain; charset=utf-8", ".xml": "text/plain; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8", ".out": "text/plain; charset=utf-8",
}

// strange is what pages of the folder may do: as much as one that was opened from the
// disk, for they are strangers to the site.
const strange = "sandbox allow-scripts allow-popups allow-top-navigation-by-user-activation; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

// file serves what lies in the folder: a folder as a list, a history in pieces.
func (s *Site) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !fs.ValidPath(name) || hidden(name) {
		http.NotFound(w, r)
		return
	}
	// What is neither file nor folder is not opened: one waits for ever at a pipe.
	info, err := s.root.Stat(name)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	if info.IsDir() {
		s.folder(w, r, name)
		return
	}
	f, err := s.root.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	if path.Base(name) == report.HistoryFile && !r.URL.Query().Has("raw") {
		s.history(w, r, name, f)
		return
	}
	kind, known := kinds[strings.ToLower(path.Ext(name))]
	if !known {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", strange)
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// hidden is what nobody means to show.
func hidden(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") && part != "." {
			return true
		}
	}
	return false
}

type entry struct{ Name, Href, Size string }

// folder lists a folder. Links within the page are relative to it, so its address ends in
// a slash.
func (s *Site) folder(w http.ResponseWriter, r *http.Request, name string) {
	if !strings.HasSuffix(r.URL.Path, "/") {
		http.Redirect(w, r, page.Href("/"+name)+"/", http.StatusSeeOther)
		return
	}
	inside, err := fs.ReadDir(s.files, name)
	if err != nil {
		s.fail(w, err)
		return
	}
	view := struct {
		frame
		Entries []entry
	}{frame: newFrame(name, "lockbench · folder", "")}
	for _, e := range inside {
		if hidden(e.Name()) {
			continue
		}
		each := entry{Name: e.Name(), Href: page.Href(e.Name())}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			each.Size = size(info.Size())
		} else if e.IsDir() {
			each.Name, each.Href = each.Name+"/", each.Href+"/"
		}
		view.Entries = append(view.Entries, each)
	}
	s.show(w, "folder", view)
}

func size(bytes int64) string {
	switch {
	case bytes < 10_000:
		return report.Plural(int(bytes), "byte")
	case bytes < 10_000_000:
		return report.Count(int(bytes/1000)) + " kB"
	}
	return report.Count(int(bytes/1_000_000)) + " MB"
}

// pieceLines is how many lines of a history stand on a page.
const pieceLines = 500

// piece is a part of a history.
type piece struct {
	frame
	Run, Lock           string
	From, To, All       int
	First, Before, Next int // lines from which other pieces begin; 0: there is none
	Last                int
	Raw, RunHref        string
	Find                string
	Lines               []pieceLine
	More                bool // of what was found there is more
}

type pieceLine struct {
	N       int
	Text    string
	Process string // nemesis and probe look different
}

// history shows a part of a history: ?from=LINE, and with ?find=TEXT only lines that have it.
func (s *Site) history(w http.ResponseWriter, r *http.Request, name string, f fs.File) {
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || from < 1 {
		from = 1
	}
	find := r.URL.Query().Get("find")
	run := path.Dir(path.Dir(name))
	p := piece{frame: newFrame("", "lockbench · history, one event a line", ""), Run: run, Lock: report.LockName(path.Base(path.Dir(name))),
		Find: find, Raw: "?raw", RunHref: page.Href("/" + path.Join(run, page.File))}
	if !s.exists(path.Join(run, page.File)) {
		p.RunHref = page.Href("/" + run + "/")
	}
	p.Title = "History of " + p.Lock
	if err := p.read(f, from); err != nil {
		s.fail(w, err)
		return
	}
	p.First, p.Last = 1, max(1, p.All-pieceLines+1)
	s.show(w, "history", p)
}

func (s *Site) exists(name string) bool {
	info, err := s.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// read takes the piece from a history, and counts all of its lines.
func (p *piece) read(r io.Reader, from int) error {
	lines := bufio.NewReaderSize(r, 256<<10)
	n := 0
	for {
		line, err := lines.ReadSlice('\n')
		cut := errors.Is(err, bufio.ErrBufferFull)
		if len(line) > 0 {
			n++
			if n >= from && len(p.Lines) <= pieceLines && (p.Find == "" || bytes.Contains(line, []byte(p.Find))) {
				p.add(n, line, cut)
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read a history: %w", err)
		}
	}
	p.All = n
	if len(p.Lines) > pieceLines {
		p.Next, p.Lines = p.Lines[pieceLines].N, p.Lines[:pieceLines]
	}
	if from > 1 && p.Find == "" {
		p.Before = max(1, from-pieceLines)
	}
	if len(p.Lines) > 0 {
		p.From, p.To = p.Lines[0].N, p.Lines[len(p.Lines)-1].N
	}
	return nil
}

// lineShown bounds what of a line is shown.
const lineShown = 4 << 10

func (p *piece) add(n int, line []byte, cut bool) {
	text := strings.ToValidUTF8(strings.TrimRight(string(line[:min(len(line), lineShown)]), "\r\n"), "?")
	if cut || len(line) > lineShown {
		text += " …"
	}
	l := pieceLine{N: n, Text: text}
	for _, kind := range []string{"nemesis", history.FProbe} {
		if bytes.Contains(line, []byte(`"process":"`+kind+`"`)) {
			l.Process = kind
		}
	}
	p.Lines = append(p.Lines, l)
}
