package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/report"
)

func TestExpected(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		episodes int
		all      []course
		want     time.Duration
	}{
		"no episode is done":            {3, []course{{state: underWay, episode: 1}, {}}, 0},
		"one of six":                    {3, []course{{state: underWay, episode: 2}, {}}, 180 * s},
		"a lock is done, maybe earlier": {3, []course{{state: over, episode: 1}, {}}, 60 * s},
		"all locks are done":            {3, []course{{state: over, episode: 3}}, 30 * s},
		"an unknown number of episodes": {0, []course{{state: over, episode: 3}, {}}, 0},
	} {
		p := &progress{episodes: c.episodes, courses: c.all}
		if got := p.expected(30 * s); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// watchedEvents is a history with everything that the screen shows.
const watchedEvents = `{"lockbench":"history/1","lock":"x","model":"mutex"}
{"time":1,"process":1,"type":"invoke","f":"acquire","session":"1.1","key":"a","ttl":5000000000}
{"time":2,"process":1,"type":"ok","f":"acquire","session":"1.1","until":5000000000}
{"time":3,"process":"probe","type":"info","f":"probe","facts":{"episode":1}}
{"time":4,"process":"nemesis","type":"info","f":"kill","step":1,"phase":"bites","value":"redis-1 killed"}
{"time":5,"process":"probe","type":"info","f":"probe","facts":{"master":"redis-2","ordered":false}}
{"time":6,"process":"probe","type":"info","f":"probe","facts":{"warning":"client 1: it says OK"}}
{"time":7,"process":"nemesis","type":"info","f":"kill","step":1,"phase":"healed"}
{"time":8,"process":"nemesis","type":"info","f":"delay","step":2,"phase":"fails","value":"no connection"}
{"time":9,"process":"nemesis","type":"info","f":"heal","phase":"fails","value":"the servers did not settle: redis-1"}
{"time":10,"process":"probe","type":"info","f":"probe","facts":{"episode":2}}
`

// TestProgressFollows: the progress is what the history says, up to its last whole line, whatever happens to its file.
func TestProgressFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), report.HistoryFile)
	p := &progress{started: time.Now(), episodes: 3, courses: []course{{lock: "x", path: path, state: underWay}}}
	if got := p.tick(); got.Grants != 0 || !got.Starting {
		t.Errorf("before the history: %+v", got)
	}
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err == nil {
			_, err = file.WriteString(text)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	half := strings.Index(watchedEvents, `"facts":{"episode":1}`)
	write(watchedEvents[:half])
	if got := p.tick(); got.Grants != 1 || got.Starting || got.Episode != 1 || len(got.News) > 0 {
		t.Errorf("in the middle of a line: %+v; want one grant and no episode before the first", got)
	}
	write(watchedEvents[half:])
	got := p.tick()
	var want []report.News
	for _, text := range []string{
		"kill: redis-1 killed", "redis-2 is master now", "client 1: it says OK", "healed: kill",
		"did not take effect: no connection", "the servers did not settle: redis-1",
	} {
		want = append(want, report.News{Lock: "x", Kind: report.Fault, Text: text})
	}
	want[2].Kind = report.Warning
	if got.Episode != 2 || !slices.Equal(got.News, want) {
		t.Errorf("episode %d, news %v; want episode 2, news %v", got.Episode, got.News, want)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := p.tick(); got.Grants != 1 || len(got.News) > 0 {
		t.Errorf("after the file was removed: %+v; want what was read, and no news", got)
	}
	p.courses[0].state = over
	if p.tick(); p.courses[0].file != nil {
		t.Error("the history of a lock that is over stays open")
	}
}

// TestProgressOfReplacedHistory: a file that replaces a history is not read as its continuation.
func TestProgressOfReplacedHistory(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"another file": func(path string) error {
			if err := os.WriteFile(path+".new", []byte(watchedEvents+watchedEvents), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"cut to nothing": func(path string) error { return os.Truncate(path, 0) },
	} {
		path := filepath.Join(t.TempDir(), report.HistoryFile)
		if err := os.WriteFile(path, []byte(watchedEvents), 0o644); err != nil {
			t.Fatal(err)
		}
		p := &progress{started: time.Now(), courses: []course{{lock: "x", path: path, state: underWay}}}
		if got := p.tick(); got.Grants != 1 || got.Episode != 2 {
			t.Fatalf("%s: before: %+v", name, got)
		}
		if err := replace(path); err != nil {
			t.Fatal(err)
		}
		if got := p.tick(); got.Grants != 1 || got.Episode != 2 || len(got.News) > 0 {
			t.Errorf("%s: %+v; want what was read before", name, got)
		}
	}
}

// TestProgressOfRubbish: a file that is no history ends the reading, and not the run.
func TestProgressOfRubbish(t *testing.T) {
	path := filepath.Join(t.TempDir(), report.HistoryFile)
	if err := os.WriteFile(path, []byte("{}\nrubbish\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &progress{started: time.Now(), courses: []course{{lock: "x", path: path, state: underWay}}}
	for range 2 {
		if got := p.tick(); got.Grants != 0 || len(got.News) > 0 || p.courses[0].file != nil {
			t.Errorf("got %+v, want nothing and a closed file", got)
		}
	}
}
