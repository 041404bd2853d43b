//go:build unix

package zkguests

import (
	"slices"
	"strings"
	"testing"
)

func TestOptionsOfCurator(t *testing.T) {
	got, err := properties([]string{"listener=off", "session=3s", "connection-timeout=1s", "retry=100ms"})
	if want := []string{"-Dlistener=off", "-Dsession=3000", "-Dconnection-timeout=1000", "-Dretry=100"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for word, want := range map[string]string{
		"listener=maybe": "neither on nor off", "session=2": "no duration", "retry=0s": "no duration", "sesion=2s": "no option sesion",
	} {
		if _, err := properties([]string{word}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
}

func TestOptionsOfKazoo(t *testing.T) {
	for _, word := range []string{"session", "session=2", "listener=on"} {
		if err := ServeKazoo([]string{word}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
