package wasm

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
)

// keptMax is the maximum number of compiled modules. Each takes about three times the space of its file.
const keptMax = 8

// CacheDir returns the directory of compiled modules: compiling takes seconds, and loading a compiled module a
// fraction. Empty: there is none.
func CacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "lockbench", "modules")
}

// keptIn returns the cache of one module, in its own directory, so that it can be removed alone. Without a
// directory the module is compiled each time.
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

// prune removes the modules that were not used for the longest time.
func prune(cache string, keep int) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range all[min(keep, len(all)):] {
		_ = os.RemoveAll(filepath.Join(cache, old.Name())) // another process may remove it too
	}
}
