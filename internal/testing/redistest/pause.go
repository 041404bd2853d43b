//go:build unix

package redistest

import (
	"syscall"
	"testing"
)

// Pause stops the server, which answers no requests until Resume.
func (s *Server) Pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Resume continues the server.
func (s *Server) Resume(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		t.Fatalf("signal the server: %v", err)
	}
}
