package checker

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/history"
)

var update = flag.Bool("update", false, "rewrite what the golden histories are judged as")

// TestGolden judges the histories in testdata/<checker>. A file has one event on each line. Below a line of dashes
// it has the expected report: the full result of that checker, and the verdicts of the others.
//
//	header {"model":"fenced"}               the header's fields, if any are needed
//	release strict                          the value of --release, if not ended
//	0.000 c1 acquire a ttl=2s               time in seconds; client 1; opens session 1.1
//	0.001 c1 ok until=2s token=1            the outstanding operation of client 1 returns
//	0.010 c1 check                          under its latest session; session=1.1 for another
//	0.011 c1 fail lost                      fail and info take an error
//	0.020 c1/7 release                      process 7 of client 1
//	0.030 c1 died                           and lost: notices
//	0.040 nemesis pause begins step=1 targets=client-1 text=why
//	0.050 probe quiet=begins                a fact
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden histories: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, want, _ := strings.Cut(string(data), "----\n")
			h, o, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got := told(Judge(h, o), name)
			if *update {
				if err := os.WriteFile(file, []byte(text+"----\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s is judged otherwise (-want +got):\n%s", file, diff)
			}
		})
	}
}

// TestGoldenVerdicts checks that each folder has histories with the verdicts that its checker can give.
func TestGoldenVerdicts(t *testing.T) {
	for _, c := range Checks() {
		seen := map[Verdict]bool{}
		files, _ := filepath.Glob("testdata/" + c.Name + "/*.txt")
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(string(data), "----\n")
			h, o, err := parse(text)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			r, _ := Judge(h, o).Check(c.Name)
			seen[r.Verdict] = true
		}
		for _, v := range []Verdict{Valid, Unknown, Violated} {
			switch {
			case v == Violated && c.Name == "harness": // it blames no lock
				continue
			case v == Unknown && c.Name == "results": // only beyond the limits of package sweep, which has its own tests
				continue
			case v == Unknown && c.Name == "linearizable": // it is valid with a note where it cannot decide
				continue
			}
			if !seen[v] {
				t.Errorf("no golden history of %s is %s", c.Name, v)
			}
		}
	}
}

// told writes a report in the form of golden files: the result of the checker of the folder, and the verdicts of other
// checkers that are not valid. So a new checker does not change the files.
func told(r Report, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "judged: %s\n", words(r.Verdict, r.Class))
	for _, c := range r.Checks {
		if c.Name == name || c.Verdict != Valid {
			fmt.Fprintf(&b, "%s: %s\n", c.Name, words(c.Verdict, c.Worst()))
		}
		if c.Name != name {
			continue
		}
		if c.Why != "" {
			fmt.Fprintf(&b, "  why: %s\n", c.Why)
		}
		if c.Note != "" {
			fmt.Fprintf(&b, "  note: %s\n", c.Note)
		}
		if c.Broken != "" {
			fmt.Fprintf(&b, "  broken: %s\n", c.Broken)
		}
		if c.LostUpdates > 0 {
			fmt.Fprintf(&b, "  lost updates: %d\n", c.LostUpdates)
		}
		for _, f := range c.Findings {
			fmt.Fprintf(&b, "  %s at %d: %s\n    events %v, sessions %v\n",
				strings.TrimSpace(f.Rule+" "+f.Class.String()), f.Event, f.Text, f.Events, f.Sessions)
		}
	}
	return b.String()
}

func words(v Verdict, c Class) string { return strings.TrimSpace(v.String() + " " + c.String()) }

// parse converts the golden form to the lines of a history, and reads them.
func parse(text string) (*history.History, Options, error) {
	var o Options
	header := map[string]any{"lockbench": history.Version}
	p := parser{open: map[string]line{}, sessions: map[string]string{}, attempts: map[string]int{}}
	for n, s := range strings.Split(text, "\n") {
		s, _, _ = strings.Cut(s, "#")
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		var err error
		if rest, ok := strings.CutPrefix(s, "header "); ok {
			err = json.Unmarshal([]byte(rest), &header)
		} else if rest, ok := strings.CutPrefix(s, "release "); ok {
			o.Release = Release(rest)
		} else {
			err = p.event(strings.Fields(s))
		}
		if err != nil {
			return nil, o, fmt.Errorf("golden line %d (%s): %w", n+1, s, err)
		}
	}
	first, err := json.Marshal(header)
	if err != nil {
		return nil, o, err
	}
	h, err := history.Read(bytes.NewReader(append(append(first, '\n'), p.out.Bytes()...)))
	return h, o, err
}

type line = map[string]any

type parser struct {
	out      bytes.Buffer
	open     map[string]line   // by process: the invocation without a return
	sessions map[string]string // by client: the latest
	attempts map[string]int
}

func (p *parser) event(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("expected a time, who, and what")
	}
	at, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return err
	}
	e := line{"time": int64(at*1e6+0.5) * 1000}
	who, what := words[1], words[2:]
	switch who {
	case "nemesis":
		e["process"], e["type"], e["f"], e["phase"], what = who, "info", what[0], what[1], what[2:]
	case "probe":
		e["process"], e["type"], e["f"] = who, "info", "probe"
		facts := line{}
		for _, w := range what {
			k, v, _ := strings.Cut(w, "=")
			switch k {
			case "queued", "left", "ending":
				facts[k] = strings.Split(v, ",")
			default:
				facts[k] = value(v)
			}
		}
		e["facts"], what = facts, nil
	default:
		client, process, other := strings.Cut(strings.TrimPrefix(who, "c"), "/")
		if !other {
			process = client
		}
		e["process"], e["client"] = value(process), value(client)
		what = p.operation(e, client, process, what)
	}
	for _, w := range what {
		k, v, ok := strings.Cut(w, "=")
		switch {
		case !ok:
			return fmt.Errorf("%q is not a field", w)
		case k == "text":
			e["value"] = strings.ReplaceAll(v, "_", " ")
		case k == "targets", k == "keys", k == "effect":
			e[k] = strings.Split(v, ",")
		case v == "true":
			e[k] = true
		default:
			e[k] = value(v)
		}
	}
	data, err := json.Marshal(e)
	p.out.Write(append(data, '\n'))
	return err
}

// operation fills in the operation of a client, and returns the remaining fields.
func (p *parser) operation(e line, client, process string, what []string) []string {
	f, rest := what[0], what[1:]
	switch f {
	case "ok", "fail", "info":
		e["type"] = f
		for _, k := range []string{"f", "session", "value", "resource", "token"} {
			if v, ok := p.open[process][k]; ok {
				e[k] = v
			}
		}
		if len(rest) > 0 && !strings.Contains(rest[0], "=") {
			e["error"], rest = rest[0], rest[1:]
		}
		return rest
	case "acquire":
		p.attempts[client]++
		p.sessions[client] = fmt.Sprintf("%s.%d", client, p.attempts[client])
		if len(rest) > 0 && !strings.Contains(rest[0], "=") {
			e["key"], rest = rest[0], rest[1:]
		}
	case "died", "lost":
		e["type"], e["f"] = "info", f
		if f == "lost" {
			e["session"] = p.sessions[client]
		}
		return rest
	}
	e["type"], e["f"], e["session"] = "invoke", f, p.sessions[client]
	for _, w := range rest {
		if k, v, _ := strings.Cut(w, "="); k == "session" || k == "value" || k == "resource" || k == "token" {
			e[k] = value(v)
		}
	}
	if e["session"] == "none" { // the final read of a resource
		delete(e, "session")
		for i, w := range rest {
			if w == "session=none" {
				rest = append(rest[:i:i], rest[i+1:]...)
				break
			}
		}
	}
	p.open[process] = e
	return rest
}

// value parses a number or a duration, which becomes nanoseconds. Anything else is a text.
func value(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if strings.Trim(s, "0123456789.") != "" {
		if d, err := time.ParseDuration(s); err == nil {
			return int64(d)
		}
	}
	return s
}
