package site

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// lookEvery is how often a run under way is looked at, by however many browsers.
const lookEvery = time.Second

// watch follows a run for as long as somebody looks at it.
//
//	histories ──every second──▶ courses ──▶ state ──▶ each browser
type watch struct {
	site *Site
	dir  string
	stop context.CancelFunc

	watchers int // guarded by the site

	mu      sync.Mutex
	courses []*course
	over    string        // why there is nothing more to come; empty: there is
	next    chan struct{} // closed when there is something new
}

// join begins to follow a run, or follows with those who do already.
func (s *Site) join(dir string) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watches[dir]
	if w == nil {
		ctx, stop := context.WithCancel(context.Background())
		w = &watch{site: s, dir: dir, stop: stop, next: make(chan struct{})}
		s.watches[dir] = w
		go w.run(ctx)
	}
	w.watchers++
	return w
}

func (w *watch) leave() {
	w.site.mu.Lock()
	defer w.site.mu.Unlock()
	if w.watchers--; w.watchers == 0 {
		w.stop()
		delete(w.site.watches, w.dir)
	}
}

func (w *watch) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		over := w.look()
		if over {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.close()
			return
		}
	}
}

// look reads what is new, and tells whether there is nothing more to come.
func (w *watch) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Asked before the histories are read: what was written before the end is seen.
	over := ""
	switch {
	case w.site.exists(path.Join(w.dir, report.ResultFile)):
		over = "ended"
	case !w.site.claimed(w.dir):
		over = "gone"
	}
	w.find()
	now := time.Now()
	for _, c := range w.courses {
		if c.more(now); c.due() || over != "" && c.part == "" && c.events > c.judged {
			w.site.judge(c)
		}
	}
	w.over = over
	close(w.next)
	w.next = make(chan struct{})
	if over != "" {
		w.close()
	}
	return over != ""
}

// find adds the locks whose histories have been begun.
func (w *watch) find() {
	inside, err := fs.ReadDir(w.site.files, w.dir)
	if err != nil {
		return // it has been removed, and then nobody claims it
	}
	for _, e := range inside {
		folder := path.Join(w.dir, e.Name())
		if !e.IsDir() || slices.ContainsFunc(w.courses, func(c *course) bool { return c.folder == folder }) || !w.site.exists(path.Join(folder, report.HistoryFile)) {
			continue
		}
		f, err := w.site.root.Open(path.Join(folder, report.HistoryFile))
		if err != nil {
			continue
		}
		w.courses = append(w.courses, &course{name: report.LockName(e.Name()), folder: folder, file: f, follow: history.Follow(f), heard: time.Now(), open: map[string]held{}})
	}
	slices.SortFunc(w.courses, func(a, b *course) int { return strings.Compare(a.folder, b.folder) })
}

// close lets go of the histories.
func (w *watch) close() {
	for _, c := range w.courses {
		_ = c.file.Close()
	}
}

// state is what a browser is told each time.
type state struct {
	At    float64    `json:"at"` // seconds since the first history began
	Facts []string   `json:"facts"`
	Locks []lockNow  `json:"locks"`
	Plan  []stepNow  `json:"plan"`
	Drawn *drawn     `json:"drawn,omitempty"`
	Over  string     `json:"over,omitempty"`
	Parts []lockPart `json:"-"`
}

type lockNow struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Servers string   `json:"servers"`
	Phase   string   `json:"phase"`
	Force   []string `json:"force"`
	Found   string   `json:"found"`
	Look    string   `json:"look"`
	Grants  int      `json:"grants"`
	Rate    float64  `json:"rate"` // of the last stretches that are whole
	Refused int      `json:"refused"`
	Unknown int      `json:"unknown"`
	BinS    float64  `json:"bin"`
	Bins    []int    `json:"bins"`
	Bands   []band   `json:"bands"`
	Length  float64  `json:"length"` // of the history, in seconds
}

// band is a fault, in seconds; To is below From as long as it goes on.
type band struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Text string  `json:"text"`
}

type stepNow struct {
	ID      int      `json:"id"`
	Episode int      `json:"episode"`
	Text    string   `json:"text"`
	State   string   `json:"state"`
	Where   []string `json:"where"` // locks for which it is in force
}

// drawn is the last while of one lock, client by client.
type drawn struct {
	Lock   string   `json:"lock"`
	From   float64  `json:"from"`
	To     float64  `json:"to"`
	Holds  []bar    `json:"holds"`
	Bands  []band   `json:"bands"`
	Client []string `json:"clients"`
}

type bar struct {
	Row  int     `json:"row"`
	Key  string  `json:"key"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

type lockPart struct {
	ID      string `json:"id"`
	HTML    string `json:"html"`
	version int
}

// state is that of now, with the holds of one lock, and the channel that tells of the next.
func (w *watch) state(draw string) (state, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	s := state{Over: w.over, Facts: []string{}, Locks: []lockNow{}, Plan: []stepNow{}}
	for _, c := range w.courses {
		s.At = max(s.At, c.at.Seconds())
		l := lockNow{ID: page.Anchor(c.name), Name: c.name, Servers: c.servers(), Phase: c.phase(now), Force: c.inForce(), Found: c.found, Look: c.look,
			Grants: c.grants.Total, Refused: c.refused, Unknown: c.unknown, BinS: c.grants.Bin.Seconds(), Bins: append([]int{}, c.grants.Bins...), Bands: []band{}, Length: c.at.Seconds(), Rate: c.rate()}
		for _, f := range c.faults {
			l.Bands = append(l.Bands, f.band())
		}
		s.Locks = append(s.Locks, l)
		if c.part != "" {
			s.Parts = append(s.Parts, lockPart{l.ID, c.part, c.version})
		}
		if l.ID == draw || draw == "" && s.Drawn == nil && l.Servers != "control" {
			s.Drawn = c.drawn(l.ID)
		}
	}
	if s.Drawn == nil && len(w.courses) > 0 {
		s.Drawn = w.courses[0].drawn(s.Locks[0].ID)
	}
	for _, c := range w.courses {
		if h := &c.follow.Header; len(s.Facts) == 0 && c.follow.Begun() {
			s.Facts = []string{fmt.Sprintf("seed %d", h.Seed), "world " + h.World, "begun " + h.Started.UTC().Format("2 January 2006, 15:04 MST")}
		}
	}
	s.Plan = w.plan()
	return s, w.next
}

// rate is grants in a second, over the stretches of the last seconds that are whole.
func (c *course) rate() float64 {
	bin := c.grants.Bin
	if bin == 0 {
		return 0
	}
	n := int(c.at / bin) // the stretch that goes on
	span := max(1, int(2*time.Second/bin))
	sum := 0
	for i := max(0, n-span); i < min(n, len(c.grants.Bins)); i++ {
		sum += c.grants.Bins[i]
	}
	return float64(sum) / (time.Duration(span) * bin).Seconds()
}

func (f *struck) band() band {
	return band{f.begins.Seconds(), f.end.Seconds(), cmp.Or(f.text, f.name)}
}

// drawn is the last while, with a row for each client. It begins where all holds are known:
// an empty row means that the client held nothing.
func (c *course) drawn(id string) *drawn {
	from, to := max(0, c.at-windowLength, c.dropped), c.at
	if from == 0 {
		to = windowLength
	}
	d := &drawn{Lock: id, From: from.Seconds(), To: to.Seconds(), Holds: []bar{}, Bands: []band{}, Client: []string{}}
	all := slices.Clone(c.holds)
	for _, h := range c.open {
		if h.from > 0 {
			h.to = c.at
			all = append(all, h)
		}
	}
	var clients []int32
	for _, h := range all {
		if h.to >= from && !slices.Contains(clients, h.client) {
			clients = append(clients, h.client)
		}
	}
	slices.Sort(clients)
	for _, id := range clients {
		d.Client = append(d.Client, fmt.Sprintf("client %d", id))
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Compare(a.from, b.from) })
	for _, h := range all {
		if h.to >= from {
			d.Holds = append(d.Holds, bar{slices.Index(clients, h.client), h.key, max(h.from, from).Seconds(), h.to.Seconds()})
		}
	}
	for _, f := range c.faults {
		if f.end == 0 || f.end >= from {
			d.Bands = append(d.Bands, f.band())
		}
	}
	return d
}

// stepWords say where a step of the plan stands for a lock.
var stepWords = map[string]string{history.Begins: "begins", history.Bites: "in force", history.Heals: "heals", history.Healed: "healed", history.Fails: "failed"}

// plan lays beside each step where it stands, over all locks that it concerns.
func (w *watch) plan() []stepNow {
	steps := []stepNow{}
	for _, c := range w.courses {
		if len(c.follow.Header.Plan) <= len(steps) {
			continue
		}
		steps = steps[:0]
		for _, p := range c.follow.Header.Plan {
			steps = append(steps, stepNow{ID: p.ID, Episode: p.Episode, Text: report.OneLine(cmp.Or(p.Text, p.Fault)), Where: []string{}})
		}
	}
	steps = steps[:min(len(steps), stepsMost)]
	for i := range steps {
		at := &steps[i]
		count := map[string]int{}
		for _, c := range w.courses {
			phase := ""
			for _, f := range c.faults {
				if f.step == at.ID {
					phase = f.phase
				}
			}
			if word := stepWords[phase]; word != "" {
				count[word]++
				if phase == history.Begins || phase == history.Bites || phase == history.Heals {
					at.Where = append(at.Where, c.name)
				}
			}
		}
		var said []string
		for _, phase := range []string{history.Begins, history.Bites, history.Heals, history.Healed, history.Fails} {
			if n := count[stepWords[phase]]; n > 0 {
				said = append(said, fmt.Sprintf("%s %d", stepWords[phase], n))
			}
		}
		at.State = cmp.Or(strings.Join(said, " · "), "to come")
	}
	return steps
}

// stepsMost bounds the plan that is shown.
const stepsMost = 100

// live is the page of a run that is under way. A run that has ended has a better one.
func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	dir := r.PathValue("run")
	if !s.isRun(dir) {
		http.NotFound(w, r)
		return
	}
	if s.exists(path.Join(dir, page.File)) {
		http.Redirect(w, r, page.Href("/"+path.Join(dir, page.File)), http.StatusSeeOther)
		return
	}
	view := struct {
		frame
		Run, Events, Report, Folder string
		Patterns                    template.HTML
	}{newFrame(path.Base(path.Dir(dir)), "lockbench · run under way", ""), dir, page.Href("/~/events/" + dir), page.Href("/" + path.Join(dir, page.File)), page.Href("/" + dir + "/"), page.Patterns()}
	view.Script = template.JS(liveScript)
	s.show(w, "live", view)
}

// isRun tells whether a folder is that of a run.
func (s *Site) isRun(dir string) bool {
	return fs.ValidPath(dir) && !hidden(dir) && s.exists(path.Join(dir, report.PlanFile))
}

// events tells a browser what is new, until it goes or there is nothing more to come.
func (s *Site) events(w http.ResponseWriter, r *http.Request) {
	dir := r.PathValue("run")
	if !s.isRun(dir) {
		http.NotFound(w, r)
		return
	}
	watch := s.join(dir)
	defer watch.leave()
	out := newStream(w)
	shown := map[string]int{}
	for {
		state, next := watch.state(r.URL.Query().Get("draw"))
		if len(state.Locks) > 0 || state.Over != "" {
			for _, p := range state.Parts {
				if shown[p.ID] != p.version {
					shown[p.ID] = p.version
					out.send("part", p)
				}
			}
			out.send("state", state)
		}
		if out.err != nil || state.Over != "" {
			return
		}
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
	}
}

// stream is a row of server-sent events.
type stream struct {
	w   http.ResponseWriter
	c   *http.ResponseController
	err error
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return &stream{w: w, c: http.NewResponseController(w)}
}

func (s *stream) send(name string, v any) {
	data, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, data)
	}
	if err == nil {
		err = s.c.Flush()
	}
	if s.err == nil {
		s.err = err
	}
}
