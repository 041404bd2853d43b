package page

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// view is what the template shows.
type view struct {
	Parts
	Title      string
	Outcome    string // as expected, not as expected, ...
	OutcomeKey string // for its look
	Facts      []string
	Lead       string // what may be concluded
	Trouble    string
	Stopped    bool
	Exit       string
	Handoffs   string
	Again      string
	AgainNote  string
	About      string
	Table      table
	Figures    table
	Locks      []lockView
	NotShown   []string
	Provenance [][2]string
	Scenario   string // its YAML
	Files      []link
	Live       bool   // the run goes on, and the page reloads itself
	Ended      string // how a run without a result ended
}

// table is one of the page.
type table struct {
	Titles []head
	Rows   []tableRow
}

type head struct {
	Text  string
	Right bool
}

type tableRow struct {
	Href  string
	Key   string
	Cells []cell
}

type cell struct {
	Text  string
	More  string // the class of a verdict, which stands below it where there is no room beside it
	Right bool
}

// cellOf sets the class apart from the verdict.
func cellOf(text string, right bool) cell {
	if i := strings.LastIndex(text, "  "); i > 0 && !right {
		return cell{text[:i], text[i:], right}
	}
	return cell{text, "", right}
}

// newView makes the page of a result. locks are the parts of its locks.
func newView(folder fs.FS, r *report.Result, locks []Lock) *view {
	key := report.Outcomes[r.ExitCode()].Key
	if key == "good" && r.AnyViolated() {
		key = "bad" // the finding first, whatever was expected
	}
	v := &view{
		Parts: Shared(), Title: r.Scenario, Outcome: r.Outcome(), OutcomeKey: key,
		Lead: r.Conclusion(), Trouble: r.Trouble(), Stopped: r.Interrupted, Exit: r.ExitLine(), Handoffs: r.Handoffs(),
		Again: r.Again, About: strings.Join(strings.Fields(r.About), " "),
		Scenario: textOf(folder, report.ScenarioFile),
		Files:    files(folder, report.ScenarioFile, report.PlanFile, report.ResultFile, report.SummaryFile, report.JUnitFile),
	}
	v.AgainNote = "The same plan and the same chances; real time is never identical."
	if r.Virtual {
		v.AgainNote = "The same history to the letter; lockbench replay compares."
	}
	v.Facts = facts(r, "took "+report.Seconds(r.DurationS))
	for i, title := range report.Titles() {
		v.Table.Titles = append(v.Table.Titles, head{strings.ToLower(cmp.Or(title, "expected")), report.RightAligned(i)})
	}
	for i, title := range report.FiguresTitles {
		v.Figures.Titles = append(v.Figures.Titles, head{strings.ToLower(title), i > 0})
	}
	for i := range r.Locks {
		l := &r.Locks[i]
		row := tableRow{Href: "#" + Anchor(l.Lock), Key: l.Look()}
		for j, text := range l.Row() {
			row.Cells = append(row.Cells, cellOf(text, report.RightAligned(j)))
		}
		mark := &row.Cells[len(row.Cells)-1]
		mark.Text += map[string]string{"✓": " as expected", "✗": " unexpected", "?": " undecided", "-": ""}[mark.Text]
		v.Table.Rows = append(v.Table.Rows, row)
		figures := tableRow{Href: row.Href, Key: row.Key}
		for j, text := range l.Cells() {
			figures.Cells = append(figures.Cells, cellOf(text, j > 0))
		}
		v.Figures.Rows = append(v.Figures.Rows, figures)
	}
	for i, l := range locks {
		l.Files = lockFiles(folder, &r.Locks[i])
		v.Locks = append(v.Locks, lockView(l))
	}
	v.NotShown = notShown(r)
	v.Provenance = provenance(r)
	return v
}

// facts are the size and the origin of a run. length is how long it took.
func facts(r *report.Result, length string) []string {
	episodes := 0
	for i := range r.Locks {
		episodes = max(episodes, r.Locks[i].Episodes)
	}
	world := "world " + r.World
	if r.WorldAbout != "" {
		world += ", " + r.WorldAbout
	}
	all := []string{fmt.Sprintf("seed %d", r.Seed), report.Plural(episodes, "episode"), report.Plural(len(r.Locks), "lock") + " side by side", world, length}
	if !r.Started.IsZero() {
		all = append(all, r.Started.UTC().Format("2 January 2006, 15:04 MST"))
	}
	return all
}

// Anchor is the address of a lock on the page.
func Anchor(lock string) string {
	return "lock-" + strings.ReplaceAll(report.FolderName(lock), "%", "_")
}

// lockView is one lock's part of the page.
type lockView struct {
	ID, Name, Key    string
	Word, Class      string
	Mark             string
	Control          bool
	Folded           bool
	Sentence         string
	Remark           string
	Trouble          string
	Notes            []string // what its clients did wrong
	Counterexample   []report.Drawn
	CounterexampleID string
	Drawing          *timeline
	Timeline         *timeline
	TimelineTitle    string
	Plan             []planRow
	PlanLeft         string // what of it is not shown
	Checks           []checkRow
	Findings         []group
	Charts           *charts
	Files            []link
}

type checkRow struct{ Name, Verdict, Text string }

type group struct {
	Title   string
	Total   int
	Left    int
	Entries []checker.Finding
}

// newLockView makes the part of a lock. soFar says that the history is still being written.
func newLockView(l *report.Lock, h *history.History, barsMax int, soFar bool) lockView {
	v := lockView{
		ID: Anchor(l.Lock), Name: l.Title(), Key: l.Look(), Word: l.Word(), Class: l.Class.String(), Mark: l.Mark(),
		Control: l.Control(), Folded: l.Control() && l.AsExpected || l.Unsupported != "",
		Sentence: sentence(l), Remark: l.Remark(), Notes: l.Notes, Checks: checksOf(l), Findings: findings(l),
	}
	if soFar {
		v.Mark, v.Remark = "", "starting"
		if l.Verdict != checker.Violated {
			v.Key, v.Word, v.Sentence = notYet.Key, notYet.Text, "Nothing was found so far."
		}
	}
	if l.Counterexample != nil {
		v.Counterexample, v.CounterexampleID = l.Counterexample.Drawn(), v.ID+"-story"
	}
	if h == nil || len(h.Events) == 0 {
		return v
	}
	faults := h.Faults
	v.Charts = newCharts(h, faults)
	d := &drawer{h: h, holds: hold.Find(h, false), faults: faults}
	told := 0 // the episode of the counterexample
	if c := l.Counterexample; c != nil {
		d.scene = sceneOf(h, c)
		if f, found := l.FirstFinding(); found {
			told, _ = h.EpisodeAt(h.Position(f.Event))
		}
	}
	open := "did not happen: the run ended before, or what it waited for did not come"
	if soFar {
		v.Remark, open = phase(h), "to come"
	}
	v.Plan, v.PlanLeft = fewRows(planRows(l, h, faults, open), told)
	if l.Counterexample != nil {
		d.paired = len(d.scene.Holders) == 2 && d.scene.Meets > 0
		d.met = d.meetings()
		from, to := d.window(0.08)
		concerned := map[int32]bool{}
		for _, s := range d.scene.Holders {
			concerned[s.Client] = true
		}
		if len(concerned) > 0 {
			v.Drawing = d.draw(v.ID+"-drawing", from, to, concerned, barsMax/4)
			from, to = d.window(0.3)
		}
		v.Timeline = d.draw(v.ID+"-timeline", from, to, nil, barsMax*3/4)
		v.TimelineTitle = "Around the violation"
		v.Drawing.toldBy(v.CounterexampleID)
		v.Timeline.toldBy(v.CounterexampleID)
		return v
	}
	// Without a violation, the page shows what the lock does now, or what it withstood.
	if end := len(h.Events) - 1; soFar {
		now := h.At(end).Time
		d.scene = scene{From: end, Meets: -1, To: end}
		v.Timeline = d.draw(v.ID+"-timeline", max(0, now-recently), now+1, nil, barsMax/2)
		v.TimelineTitle = "The last ten seconds"
	} else if len(faults) > 0 {
		begin := h.At(faults[0].Begins).Time
		d.scene = scene{From: faults[0].Begins, Meets: -1, To: faults[0].Begins}
		v.Timeline = d.draw(v.ID+"-timeline", max(0, begin-200*time.Millisecond), min(begin+3*time.Second, h.Events[len(h.Events)-1].Time), nil, barsMax/2)
		v.TimelineTitle = "Around the first fault"
	}
	return v
}

// notYet is the look of a lock of a run in progress in which nothing was found.
var notYet = struct{ Key, Text string }{"none", "nothing so far"}

// recently is how much of a run in progress is drawn.
const recently = 10 * time.Second

// phase says how far a lock of a run in progress has come, and which faults are in effect.
func phase(h *history.History) string {
	end := len(h.Events) - 1
	text := "warming up"
	if n, ok := h.EpisodeAt(end); ok {
		text = fmt.Sprintf("episode %d", n)
		if b := h.Header.Bounds; b != nil && b.Episodes > 0 {
			text += fmt.Sprintf(" of %d", b.Episodes)
		}
	}
	if n := len(h.Quiet); n > 0 && h.Quiet[n-1].Open {
		text += ", recovery period"
	}
	for _, f := range h.Faults {
		if f.Began() && f.Healed < 0 && f.Fails < 0 {
			text += "; " + report.OneLine(cmp.Or(f.Text, f.Name))
		}
	}
	return text
}

// scene is the part of a history that a counterexample is about, by positions.
type scene struct {
	Key             string
	Holders         []*history.Session
	From, Meets, To int
}

// sceneOf finds the scene of a counterexample in its history.
func sceneOf(h *history.History, c *report.Counterexample) scene {
	s := scene{Key: c.Scene.Key, From: h.Position(c.Scene.From), Meets: h.Position(c.Scene.Meets), To: h.Position(c.Scene.To)}
	for _, name := range c.Scene.Sessions {
		if i := slices.IndexFunc(h.Sessions, func(s *history.Session) bool { return s.Name == name }); i >= 0 {
			s.Holders = append(s.Holders, h.Sessions[i])
		}
	}
	return s
}

// sentence says of one lock what came out.
func sentence(l *report.Lock) string {
	rate := ""
	if l.Rate != nil {
		rate = fmt.Sprintf("%d of %s", l.ViolatingEpisodes, report.Plural(l.Episodes, "episode"))
	}
	switch {
	case l.Error != "":
		return "The harness failed, so there is no verdict: " + report.OneLine(l.Error)
	case l.Unsupported != "":
		return "It could not take part here: " + report.OneLine(l.Unsupported) + "."
	case l.Verdict == checker.Unknown:
		return "It could not be decided: " + report.OneLine(l.Why) + "."
	case l.Verdict == checker.Valid && l.Rate != nil:
		return fmt.Sprintf("Nothing was found: %s, and that still allows a rate of up to %s (95 %%).", rate, report.Percent(l.Rate.High))
	case l.Verdict == checker.Valid:
		return "Nothing was found, and nothing was tried on it."
	}
	said := "It broke in " + rate
	if rate == "" {
		said = "It broke"
	}
	if after, ok := stats.Median(l.ViolationAfterS); ok {
		said += fmt.Sprintf(", %s after the beginning of one (median)", report.Seconds(after))
	}
	if f, ok := l.FirstFinding(); ok {
		said += ": " + report.OneLine(f.Text)
	}
	said += "."
	switch {
	case l.LostUpdates > 0:
		said += fmt.Sprintf(" %s of %s writes were lost.", report.Count(l.LostUpdates), report.Count(l.Writes))
	case l.FencedOff():
		said += " Its fence kept the resource whole."
	case l.Writes > 0:
		said += " No write was lost."
	}
	return said
}

func checksOf(l *report.Lock) []checkRow {
	var rows []checkRow
	for _, c := range l.Checks {
		row := checkRow{Name: c.Name, Verdict: c.Verdict.String(), Text: report.OneLine(c.Why)}
		if c.Violations > 0 {
			row.Text = report.Plural(c.Violations, "finding")
		}
		if c.Note != "" {
			row.Text = strings.TrimPrefix(row.Text+"; "+report.OneLine(c.Note), "; ")
		}
		rows = append(rows, row)
	}
	return rows
}

// findings are those of all checkers by class, the worst first.
func findings(l *report.Lock) []group {
	byTitle := map[string]*group{}
	var order []*group
	class := map[*group]checker.Class{}
	kept := 0
	for _, c := range l.Checks {
		kept += len(c.Findings)
		for _, f := range c.Findings {
			title := cmp.Or(f.Class.String(), f.Rule)
			g := byTitle[title]
			if g == nil {
				g = &group{Title: title}
				byTitle[title] = g
				class[g] = f.Class
				order = append(order, g)
			}
			g.Total++
			if len(g.Entries) < report.FindingsMax {
				g.Entries = append(g.Entries, f)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *group) int { return int(class[b]) - int(class[a]) })
	out := make([]group, len(order))
	for i, g := range order {
		slices.SortStableFunc(g.Entries, func(a, b checker.Finding) int { return a.Event - b.Event })
		g.Left = g.Total - len(g.Entries)
		out[i] = *g
	}
	return out
}

// planRow is one step as it happened.
type planRow struct {
	Episode                          int
	What, When, InEffect, Healed, NA string
}

// planMax is how many steps of a plan are shown.
const planMax = 100

// fewRows are the first steps of a plan, with those of the episode that is told.
func fewRows(rows []planRow, told int) (shown []planRow, left string) {
	if len(rows) <= planMax {
		return rows, ""
	}
	for i, r := range rows {
		if i < planMax || r.Episode == told {
			shown = append(shown, r)
		}
	}
	if n := len(rows) - len(shown); n > 0 {
		left = fmt.Sprintf("thinned: %s of other episodes left out; the history has all.", report.Plural(n, "step"))
	}
	return shown, left
}

// planRows compares the plan with the history. open is what a step is that did not happen.
func planRows(l *report.Lock, h *history.History, faults []history.Fault, open string) []planRow {
	steps := h.Header.Plan
	if len(steps) == 0 {
		steps = l.Plan
	}
	at := func(pos int) string {
		if pos < 0 {
			return ""
		}
		return report.Stamp(h.At(pos).Time)
	}
	var rows []planRow
	for _, s := range steps {
		row := planRow{Episode: s.Episode, What: cmp.Or(s.Text, s.Fault), NA: s.NA}
		struck := false
		for _, f := range faults {
			if f.Step != s.ID {
				continue
			}
			row.When, row.InEffect, row.Healed = at(f.Begins), at(f.Bites), at(f.Healed)
			struck = true
			if f.Text != "" {
				row.What += ": " + report.OneLine(f.Text)
			}
			if f.Fails >= 0 {
				row.NA = "failed: " + report.OneLine(f.Why)
			} else if f.Bites < 0 {
				row.NA = "not seen to take effect"
			}
		}
		if !struck && row.NA == "" {
			row.NA = open
		}
		rows = append(rows, row)
	}
	return rows
}
