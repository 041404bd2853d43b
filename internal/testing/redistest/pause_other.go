//go:build !unix

package redistest

import "testing"

// Pause needs signals.
func (s *Server) Pause(t testing.TB) { t.Skip("no signals on this system to stop a server with") }

// Resume undoes Pause.
func (s *Server) Resume(testing.TB) {}
