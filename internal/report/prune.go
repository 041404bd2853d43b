package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// runFolder is how the folder of a run is called: stamp, seed, and perhaps which of two.
var runFolder = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9]+(\.[0-9]+)?$`)

// busyFor is for how long a run that has written no result may still be going on.
const busyFor = 24 * time.Hour

// Prune removes all runs (and campaigns) of a results folder but the newest, and tells
// which and how many bytes they took. What is not the folder of a run stays, and so do the
// run that the link to the newest leads to, and those that may still be going on.
func Prune(out string, keep int, now time.Time) (removed []string, bytes int64, err error) {
	found, err := filepath.Glob(filepath.Join(out, "*", "*"))
	if err != nil {
		return nil, 0, fmt.Errorf("look for runs in %s: %w", out, err)
	}
	latest, _ := filepath.EvalSymlinks(filepath.Join(out, LatestLink))
	var runs []string
	for _, dir := range found {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && runFolder.MatchString(filepath.Base(dir)) {
			runs = append(runs, dir)
		}
	}
	// Stamps sort as times do.
	slices.SortStableFunc(runs, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) })
	for _, dir := range runs[min(keep, len(runs)):] {
		if whole, err := filepath.EvalSymlinks(dir); err == nil && whole == latest || busy(dir, now) {
			continue
		}
		size := sizeOf(dir)
		if err := os.RemoveAll(dir); err != nil {
			return removed, bytes, fmt.Errorf("remove %s: %w", dir, err)
		}
		removed, bytes = append(removed, dir), bytes+size
		_ = os.Remove(filepath.Dir(dir)) // of the scenario, if that was the last; else it fails
	}
	return removed, bytes, nil
}

// busy tells whether a run may still be going on: it has no result, and is not old.
func busy(dir string, now time.Time) bool {
	for _, name := range []string{ResultFile, "campaign.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return false
		}
	}
	begun, err := time.Parse("20060102-150405", filepath.Base(dir)[:len("20060102-150405")])
	return err == nil && now.Sub(begun) < busyFor
}

func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return errors.Join(err, fs.SkipDir)
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
