package servicetest

import (
	"testing"

	"lockbench/internal/service"
)

// Version is the result of reading a version. The zero value means that the text is not the service's.
type Version struct {
	Text   string
	Enough bool
}

// Versions reads the outputs of programs that print their versions.
func Versions(t *testing.T, s *service.Service, want map[string]Version) {
	t.Helper()
	for output, want := range want {
		text, enough, err := s.Needs.Version(output)
		if (Version{text, enough}) != want || (err == nil) != (want.Text != "") {
			t.Errorf("%q: %q, %v, %v", output, text, enough, err)
		}
	}
}
