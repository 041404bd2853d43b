package trial

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// logMax limits the log of one trial, in case a guest prints too much.
const logMax = 4 << 20

// Log is the harness's log: stray lines of guests, clients that were killed, faults that could not be undone.
type Log struct {
	mu      sync.Mutex
	file    *os.File
	written int
	began   time.Time
}

// CreateLog creates a log. Each line begins with the time since began.
func CreateLog(path string, began time.Time) (*Log, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the log of the harness: %w", err)
	}
	return &Log{file: f, began: began}, nil
}

// Say writes a line.
func (l *Log) Say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written > logMax {
		return
	}
	n, _ := fmt.Fprintf(l.file, "%9.3f s  %s\n", time.Since(l.began).Seconds(), line)
	l.written += n
	if l.written > logMax {
		_, _ = fmt.Fprintln(l.file, "log truncated")
	}
}

// Close closes the file.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
}
