//go:build linux

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"lockbench/internal/secret"
)

// Log receives the output of one process. Its file is bounded, and it keeps the last lines for
// error messages.
type Log struct {
	mu      sync.Mutex
	file    *os.File // nil: only the last lines are kept
	masked  secret.Stream
	written int
	tail    []byte
}

const (
	logMax  = 8 << 20
	tailMax = 2 << 10
)

// OpenLog creates name.log in dir. With an empty dir only the last lines are kept.
func OpenLog(dir, name string) (*Log, error) {
	if dir == "" {
		return &Log{}, nil
	}
	f, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	return &Log{file: f}, nil
}

// Mask masks secrets in what is written from now on.
func (l *Log) Mask(m *secret.Mask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.masked.Mask = m
}

// Write never fails: a full disk must not stop the servers.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(l.masked.Next(string(p)))
	return len(p), nil
}

// write writes a masked text. l.mu must be held.
func (l *Log) write(p string) {
	l.tail = append(l.tail, p...)
	if extra := len(l.tail) - tailMax; extra > 0 {
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
	if l.file == nil || l.written > logMax {
		return
	}
	l.written += len(p)
	_, _ = l.file.WriteString(p)
	if l.written > logMax {
		fmt.Fprintf(l.file, "\n... the rest is left out: this log is longer than %d MiB\n", logMax>>20)
	}
}

// Line adds a line of lockbench's own.
func (l *Log) Line(text string) { fmt.Fprintf(l, "lockbench: %s\n", text) }

// Last returns the last lines, indented, for an error message.
func (l *Log) Last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(l.end()), "\n")
	if n := len(lines) - 8; n > 0 {
		lines = lines[n:]
	}
	if lines[0] == "" {
		return "it wrote nothing"
	}
	return "it wrote last:\n\t" + strings.Join(lines, "\n\t")
}

// end returns the last lines. l.mu must be held.
func (l *Log) end() string { return string(l.tail) + l.masked.Held() }

// LastLine returns the last line that is not blank, or "".
func (l *Log) LastLine() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(l.end())
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// Close closes the file. The last lines are still kept.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(l.masked.End())
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}
