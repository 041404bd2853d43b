package run

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// harnessLogMax bounds what one lock's run may say, so that a babbling guest does
// not fill the disk.
const harnessLogMax = 4 << 20

// harnessLog is what the harness noticed beside the history: stray lines of
// guests, clients that had to be killed, faults that could not be healed.
type harnessLog struct {
	mu      sync.Mutex
	file    *os.File
	written int
	started time.Time
}

func newHarnessLog(path string) (*harnessLog, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the log of the harness: %w", err)
	}
	return &harnessLog{file: f, started: time.Now()}, nil
}

func (l *harnessLog) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written > harnessLogMax {
		return
	}
	n, _ := fmt.Fprintf(l.file, "%9.3f s  %s\n", time.Since(l.started).Seconds(), line)
	l.written += n
	if l.written > harnessLogMax {
		_, _ = fmt.Fprintln(l.file, "and more, left out here")
	}
}

func (l *harnessLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
}
