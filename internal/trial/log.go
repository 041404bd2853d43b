package trial

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// logMax limits the log of one trial, so that a guest that prints a lot does not fill the
// disk.
const logMax = 4 << 20

// Log has the harness's observations that are not in the history: stray lines of guests,
// clients that had to be killed, faults that could not be healed.
type Log struct {
	mu      sync.Mutex
	file    *os.File
	written int
	began   time.Time
}

// CreateLog creates a log whose lines begin with the time since began.
func CreateLog(path string, began time.Time) (*Log, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the log of the harness: %w", err)
	}
	return &Log{file: f, began: began}, nil
}

// Say writes a line to the log.
func (l *Log) Say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written > logMax {
		return
	}
	n, _ := fmt.Fprintf(l.file, "%9.3f s  %s\n", time.Since(l.began).Seconds(), line)
	l.written += n
	if l.written > logMax {
		_, _ = fmt.Fprintln(l.file, "and more, left out here")
	}
}

// Close closes the file.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
}
