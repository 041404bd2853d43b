package site

import (
	"bytes"
	"cmp"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/shellword"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// unfinished is a run without a result. Its page is its report, made from what the histories have so far.
type unfinished struct {
	locks []*growing
	page  []byte
	due   time.Time // the page is made again from then on
}

// growing is a history that is being written.
type growing struct {
	name, path string
	file       fs.File
	follow     *history.Follower
	events     []history.Event
	judged     int // events
	stage      int // episodes and recovery periods that were judged
	lock       report.Lock
	trouble    string
}

// Making the page takes at most a fifth of one processor, because the run may need it.
const (
	refreshMin  = time.Second
	refreshRest = 4 // times as long as making the page took
)

// isUnfinished reports whether a folder is that of a run without a report.
func (s *Site) isUnfinished(dir string) bool {
	return isFile(s.files, path.Join(dir, report.PlanFile)) && !isFile(s.files, path.Join(dir, page.File))
}

// unfinished writes the page of a run without a report. Pages that are open for long share one.
func (s *Site) unfinished(w http.ResponseWriter, dir string) {
	s.liveMu.Lock()
	defer s.liveMu.Unlock()
	for other, u := range s.live {
		if other != dir && time.Since(u.due) > time.Minute {
			u.close()
			delete(s.live, other)
		}
	}
	u := s.live[dir]
	if u == nil {
		u = &unfinished{}
		s.live[dir] = u
	}
	if begun := time.Now(); begun.After(u.due) {
		if err := u.write(s, dir); err != nil {
			s.fail(w, err)
			return
		}
		took := time.Since(begun)
		u.due = time.Now().Add(max(refreshMin, refreshRest*took))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(u.page) // the client may be gone
}

func (u *unfinished) close() {
	for _, g := range u.locks {
		_ = g.file.Close()
	}
}

// write reads what is new and makes the page.
func (u *unfinished) write(s *Site, dir string) error {
	ended := ""
	if !s.claimed(dir) { // before the histories are read, so that what a run wrote last is read
		ended = "No process works on this run any more. `lockbench report " + shellword.Quote(path.Join(s.o.Root, dir)) + "` judges what it recorded."
	}
	if err := u.find(s, dir); err != nil {
		return err
	}
	r := &report.Result{Scenario: path.Base(path.Dir(dir)), Plan: []history.PlanStep{}}
	var parts []page.Lock
	for _, g := range u.locks {
		h := g.read(s.o.Judge, ended != "")
		l := &g.lock
		if h != nil {
			r.TakeHeader(h)
		}
		part := page.Draw(l, h, len(u.locks), true)
		part.Trouble = g.trouble
		parts = append(parts, part)
		r.Locks = append(r.Locks, *l)
	}
	folder, err := fs.Sub(s.files, dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := page.WriteUnfinished(&b, folder, r, parts, ended); err != nil {
		return err
	}
	u.page = b.Bytes()
	return nil
}

// find opens the histories that have begun since.
func (u *unfinished) find(s *Site, dir string) error {
	inside, err := fs.ReadDir(s.files, dir)
	if err != nil {
		return err
	}
	for _, e := range inside {
		name := path.Join(dir, e.Name(), report.HistoryFile)
		if !e.IsDir() || !isFile(s.files, name) || slices.ContainsFunc(u.locks, func(g *growing) bool { return g.path == name }) {
			continue
		}
		f, err := s.root.Open(name)
		if err != nil {
			return err
		}
		u.locks = append(u.locks, &growing{name: e.Name(), path: name, file: f, follow: history.Follow(f)})
	}
	slices.SortFunc(u.locks, func(a, b *growing) int { return strings.Compare(a.path, b.path) })
	return nil
}

// read reads what is new of the history and judges it, as in a run, when an episode is over and the history has grown by
// a quarter, and when the run has ended. It returns nil if the history has not begun or cannot be read.
func (g *growing) read(judge func(string, *history.History) (report.Lock, error), ended bool) *history.History {
	if g.trouble != "" {
		return nil
	}
	err := g.follow.More(func(e *history.Event) { g.events = append(g.events, *e) })
	var h *history.History
	if err == nil && g.follow.Begun() {
		h, err = history.Build(g.follow.Header, g.events)
	}
	if h == nil || err != nil {
		if err != nil {
			g.trouble = report.OneLine(err.Error())
		}
		g.lock.Lock = cmp.Or(g.lock.Lock, g.name)
		return nil
	}
	stage, n := len(h.Episodes)+len(h.Quiet), len(g.events)
	if stage > max(g.stage, 1) && n >= g.judged+g.judged/4 || ended && n > g.judged {
		g.stage, g.judged = stage, n
		if g.lock, err = judge(g.path, h); err != nil {
			g.trouble = report.OneLine(err.Error())
		}
	}
	if g.lock.Verdict != checker.Violated { // a history that goes on shows nothing else yet
		g.lock = report.Lock{Verdict: checker.Unknown, Figures: stats.Measure(h, nil)}
	}
	g.lock.Lock, g.lock.Topology, g.lock.AsExpected = cmp.Or(h.Header.Lock, g.name), locks.Topology(h.Header.Topology), true
	return h
}
