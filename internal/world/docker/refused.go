//go:build linux

package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// refusedFor is how long a failed fetch is not repeated. Behind a firewall that drops packets each try takes
// minutes.
const refusedFor = time.Hour

// refusedFile is a file with the error of a fetch. Its modification time is that of the error.
func refusedFile(image string) (path string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place to remember what failed: %w", err)
	}
	sum := sha256.Sum256([]byte(image))
	return filepath.Join(cache, "lockbench", "not-fetched-"+hex.EncodeToString(sum[:8])), nil
}

// refused returns why a fetch failed within the last hour, or nil.
func refused(image string, now time.Time) error {
	path, err := refusedFile(image)
	if err != nil {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil || now.Sub(info.ModTime()) > refusedFor || now.Before(info.ModTime()) {
		return nil
	}
	why, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return fmt.Errorf("%s (%s ago; `lockbench doctor --images` tries again)", why, now.Sub(info.ModTime()).Round(time.Second))
}

// remember stores the result of a fetch. If it cannot be written, the fetch is tried again.
func remember(image string, failed error) {
	path, err := refusedFile(image)
	if err != nil {
		return
	}
	if failed == nil {
		_ = os.Remove(path)
		return
	}
	if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		_ = os.WriteFile(path, []byte(failed.Error()), 0o644)
	}
}
