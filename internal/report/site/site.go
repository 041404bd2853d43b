// Package site serves a results folder to browsers: all runs, reports with all their files, and runs in progress.
//
// It never writes. Package page has the design. The page of a run in progress is made from the histories as they are
// written. A result is read again only if its file has changed.
//
//	/                       all runs
//	/RUN/report.html        the report, also of a run in progress
//	/RUN/...                the files of the folder
//
// Files are opened below the folder (os.Root), so neither dots nor links lead out of it. Requests under a name other
// than localhost are refused: another site could point its own name at this address and read the answers.
package site

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lockbench/internal/history"
	"lockbench/internal/report"
)

// Options configure a site.
type Options struct {
	Root string // the results folder
	// Judge judges the history of a lock, which may not have ended.
	Judge func(name string, h *history.History) (report.Lock, error)
	// Campaign returns the exit code of the campaign in a folder. It is called again only if the results of its runs change.
	Campaign func(dir string) (code int, err error)
}

// Site is a results folder as a site.
type Site struct {
	o     Options
	root  *os.Root
	mux   *http.ServeMux
	files fs.FS

	mu        sync.Mutex
	runList   runList
	campaigns map[string]campaignView // by folder, with their outcomes

	liveMu sync.Mutex
	live   map[string]*unfinished // by folder
}

// New opens a results folder.
func New(o Options) (*Site, error) {
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil, fmt.Errorf("serve a results folder: %w", err)
	}
	s := &Site{o: o, root: root, files: root.FS(), mux: http.NewServeMux(), live: map[string]*unfinished{}, campaigns: map[string]campaignView{}}
	s.mux.HandleFunc("GET /{$}", s.runs)
	s.mux.HandleFunc("GET /", s.file)
	return s, nil
}

// Close closes the folder.
func (s *Site) Close() error {
	s.liveMu.Lock()
	defer s.liveMu.Unlock()
	for _, u := range s.live {
		u.close()
	}
	return s.root.Close()
}

// csp is the policy of the site's own pages. They may fetch from this site.
const csp = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP answers GET and HEAD requests to an address or to localhost.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", csp)
	if !knownHost(r.Host) {
		http.Error(w, fmt.Sprintf("lockbench: this site does not have the name %q; use the address that `lockbench serve` printed", r.Host), http.StatusMisdirectedRequest)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "lockbench: this site is read only", http.StatusMethodNotAllowed)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// scan reads the folder.
func (s *Site) scan() (runList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := s.runList.scan(s.files)
	if err == nil {
		s.runList = now
	}
	return s.runList, err
}

// judge sets the outcome of a matrix, which a run that was repeated or a rate over all runs makes another than that of its runs.
// A matrix without its files has the heaviest outcome of its runs.
func (s *Site) judge(c *campaignView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.campaigns[c.Dir]
	if known && before.Page == c.Page && slices.EqualFunc(before.Runs, c.Runs, func(a, b entry) bool { return a.file == b.file }) {
		c.Exit = before.Exit
		return
	}
	c.Exit = report.ExitExpected
	for _, e := range c.Runs {
		c.Exit = report.Worst(c.Exit, e.Exit)
	}
	if c.Page && s.o.Campaign != nil {
		if code, err := s.o.Campaign(filepath.Join(s.o.Root, filepath.FromSlash(c.Dir))); err == nil {
			c.Exit = code
		}
	}
	s.campaigns[c.Dir] = *c
}

// claimed reports whether a process works on a run.
func (s *Site) claimed(dir string) bool {
	f, err := s.root.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return report.Claimed(f)
}

// knownHost reports whether a Host header is an address or localhost.
func knownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}

// fail answers with an error, without the path of the folder.
func (s *Site) fail(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if os.IsNotExist(err) {
		code = http.StatusNotFound
	}
	http.Error(w, "lockbench: "+strings.ReplaceAll(err.Error(), s.o.Root, "results"), code)
}
