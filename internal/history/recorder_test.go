package history

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRecordsConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := New(f, Header{Lock: "no-lock"}, 1) // many small batches
	if err != nil {
		t.Fatal(err)
	}
	const clients, attempts = 8, 150 // some 17,000 events
	type stamp struct {
		index int
		at    time.Duration
		event Event
	}
	stamps := make([][]stamp, clients)
	var wg sync.WaitGroup
	for client := range int32(clients) {
		wg.Go(func() {
			for n := range attempts {
				for _, e := range attemptOf(client, n) {
					index, at := r.Record(e)
					stamps[client] = append(stamps[client], stamp{index, at, e})
				}
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := clients * attempts * 14; len(h.Events) != want || len(h.Sessions) != clients*attempts {
		t.Fatalf("%d events of %d sessions; expected %d", len(h.Events), len(h.Sessions), want)
	}
	for pos := range h.Events { // the reader checks that times do not go back
		if h.Events[pos].Index != pos {
			t.Fatalf("position %d has index %d", pos, h.Events[pos].Index)
		}
	}
	for _, of := range stamps {
		for i, s := range of {
			s.event.Index, s.event.Time = s.index, s.at
			if diff := cmp.Diff(s.event, h.Events[s.index]); diff != "" {
				t.Fatal(diff)
			}
			if i > 0 && s.index <= of[i-1].index {
				t.Fatalf("a client's events %d and %d are in another order", of[i-1].index, s.index)
			}
		}
	}
}

// fullDisk takes some bytes and then no more, like a device without space.
type fullDisk struct {
	bytes.Buffer
	left int
}

func (d *fullDisk) Name() string { return "results/failover/history.jsonl" }

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.left)
	d.left -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, fmt.Errorf("write %s: %w", d.Name(), syscall.ENOSPC)
	}
	return n, nil
}

func TestStopsWhenTheDiskIsFull(t *testing.T) {
	for _, space := range []int{200, 5_000, 100_000} {
		disk := &fullDisk{left: space}
		r, err := New(disk, Header{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		var events []Event
		for failed, n := false, 0; !failed; n++ {
			for _, e := range attemptOf(0, n) {
				e.Index, e.Time = r.Record(e)
				events = append(events, e)
			}
			select {
			case <-r.Failed():
				failed = true
			default:
			}
		}
		if index, _ := r.Record(Event{}); index != len(events) {
			t.Errorf("after the error: index %d; expected %d", index, len(events))
		}
		if r.pending() {
			t.Error("after the error: events are kept")
		}
		for _, err := range []error{r.Err(), r.Close(), r.Close()} {
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), disk.Name()) {
				t.Errorf("error %v; expected ENOSPC, and the name", err)
			}
		}
		h, err := Read(&disk.Buffer)
		if err != nil {
			t.Fatalf("read back: %v", err)
		}
		if len(h.Events) == 0 {
			t.Error("nothing was recorded")
		}
		if diff := cmp.Diff(events[:len(h.Events)], h.Events, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRefusesAMalformedEvent(t *testing.T) {
	disk := &fullDisk{left: 1 << 20}
	r, err := New(disk, Header{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	good := attemptOf(3, 1)
	for _, e := range good {
		r.Record(e)
	}
	r.Record(Event{Process: 3, Client: 3, Type: OK, F: Release, Session: "3.1"})
	<-r.Failed()
	err = r.Close()
	var m *Malformed
	if !errors.As(err, &m) || m.Line != len(good)+2 || m.Rule != "not-invoked" || !strings.Contains(err.Error(), disk.Name()) {
		t.Errorf("error %v; expected a second return in line %d of %s", err, len(good)+2, disk.Name())
	}
	h, err := Read(&disk.Buffer)
	if err != nil || len(h.Events) != len(good) {
		t.Errorf("read back: %v, %+v", err, h)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(&fullDisk{left: 5}, Header{}, 0); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "failover") {
		t.Errorf("a full disk: %v", err)
	}
	var m *Malformed
	if _, err := New(&fullDisk{left: 500}, Header{Model: Model{"spin"}}, 0); !errors.As(err, &m) {
		t.Errorf("an unknown model: %v", err)
	}
}

// TestWritesWhileRunning sees an event in the file before the recorder is closed:
// a harness that crashes leaves what it knew.
func TestWritesWhileRunning(t *testing.T) {
	seen := make(lines, 16)
	r, err := New(seen, Header{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if first := <-seen; first != `{"lockbench":"history/1"}`+"\n" {
		t.Errorf("header %q", first)
	}
	for n := range 3 {
		for r.isArmed() { // the event before must be taken, so that this one starts the timer again
			runtime.Gosched()
		}
		_, at := r.Record(Event{Process: 0, Type: Info, F: Died})
		want := fmt.Sprintf(`{"index":%d,"time":%d,"process":0,"type":"info","f":"died"}`+"\n", n, at)
		if got := <-seen; got != want {
			t.Errorf("wrote %q; expected %q", got, want)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if index, _ := r.Record(Event{}); index != 3 {
		t.Errorf("index %d after Close", index)
	}
	if len(seen) > 0 {
		t.Errorf("wrote %q after Close", <-seen)
	}
}

func (r *Recorder) isArmed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.armed
}

// TestReadsTheClockUnderTheLock holds the lock while others want to record: their
// times must be those of when they got it.
func TestReadsTheClockUnderTheLock(t *testing.T) {
	r, err := New(new(bytes.Buffer), Header{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		r.mu.Lock()
		times := make(chan time.Duration)
		go func() {
			_, at := r.Record(Event{Type: Info, F: Died})
			times <- at
		}()
		for range 20 {
			runtime.Gosched() // so that it most likely waits by now
		}
		free := r.Now()
		r.mu.Unlock()
		if at, now := <-times, r.Now(); at < free || at > now {
			t.Fatalf("recorded at %v; expected from %v, when the lock was free, to %v", at, free, now)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestFlush: what was recorded can be read at once, however long the recorder would wait.
func TestFlush(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := New(f, Header{Lock: "no-lock"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for n := range 20 {
		r.Flush() // also with nothing to write
		for _, e := range attemptOf(1, n) {
			r.Record(e)
			want++
		}
		r.Flush()
		h, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Events) != want {
			t.Fatalf("%d events after the flush; expected %d", len(h.Events), want)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.Flush() // of a closed one returns
}
