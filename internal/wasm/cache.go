package wasm

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
)

// keptMax is how many modules are kept compiled: each takes some three times the
// space of its file.
const keptMax = 8

// CacheDir is the folder in which modules are kept compiled: compiling takes seconds,
// and reading what came of it a tenth of one. Empty: there is no such folder.
func CacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "lockbench", "modules")
}

// keptIn is the cache of one module, in a folder of its own, so that it can be thrown
// away by itself. A folder that cannot be had costs time and nothing else.
func keptIn(cache, sum string) wazero.CompilationCache {
	if cache == "" {
		return wazero.NewCompilationCache()
	}
	dir := filepath.Join(cache, sum)
	kept, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return wazero.NewCompilationCache()
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // used last; who cannot write loses it sooner
	prune(cache, keptMax)
	return kept
}

// prune throws away what was used longest ago.
func prune(cache string, keep int) {
	entries, err := os.ReadDir(cache)
	if err != nil || len(entries) <= keep {
		return
	}
	type folder struct {
		path string
		used time.Time
	}
	var all []folder
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() {
			all = append(all, folder{filepath.Join(cache, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b folder) int { return b.used.Compare(a.used) })
	for _, old := range all[min(keep, len(all)):] {
		_ = os.RemoveAll(old.path) // another process may remove it too
	}
}
