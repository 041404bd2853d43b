//go:build linux

package docker

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// A fetch that failed is not tried again for an hour, and one that worked forgets it.
func TestRefused(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const image = "redis:7-bookworm"
	now := time.Now()
	if err := refused(image, now); err != nil {
		t.Errorf("nothing was tried yet, and it says %v", err)
	}
	remember(image, errors.New("the registry did not answer"))
	path, err := refusedFile(image)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	then := info.ModTime()
	if err := refused(image, then.Add(10*time.Minute)); err == nil || !strings.Contains(err.Error(), "the registry did not answer (10m0s ago; `lockbench doctor --images` tries again)") {
		t.Errorf("ten minutes later: %v", err)
	}
	if err := refused("other:1", then.Add(time.Minute)); err != nil {
		t.Errorf("of another image: %v", err)
	}
	if err := refused(image, then.Add(61*time.Minute)); err != nil {
		t.Errorf("an hour later it is to be tried again: %v", err)
	}
	remember(image, nil)
	if err := refused(image, then.Add(time.Minute)); err != nil {
		t.Errorf("it was fetched since: %v", err)
	}
}
