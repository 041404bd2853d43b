package run

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"lockbench/internal/shellword"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// Serve replaces each stock library among the locks by the guest that serves it: a program if the world runs programs,
// otherwise a WASM guest.
func Serve(uses []scenarios.LockUse, w world.World) ([]scenarios.LockUse, error) {
	served := slices.Clone(uses)
	for i, u := range uses {
		entry, _ := u.Entry()
		if u.Own() || entry.Library == nil {
			continue
		}
		words := []string{u.Use}
		for _, name := range slices.Sorted(maps.Keys(u.Options)) {
			words = append(words, name+"="+u.Options[name])
		}
		g := &served[i]
		switch runs := w.Describe(); {
		case runs.Commands:
			program, err := programOf(entry.Library, u.Options)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", u.Name, err)
			}
			g.Command = commandOf(program, words)
		case entry.Library.Real:
			continue // the catalog gives the reason
		default:
			module, err := findBuilt(catalog.LibraryModule, "more")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", u.Name, err)
			}
			g.Module, g.Args = module, words
		}
	}
	return served, nil
}

// commandOf returns a shell command that starts a guest. The guest replaces the shell, because the kernel ends only the
// children of lockbench with it: a JVM below a shell would live until it has started and reads the end of its input.
func commandOf(program string, words []string) string {
	return "exec " + shellword.Join(append([]string{program}, words...)...)
}

// programOf returns the path of the program that serves a library with the given options.
func programOf(l *catalog.Library, options map[string]string) (string, error) {
	if folder := l.Guest(options); folder != "" {
		return Guest(folder)
	}
	return findBuilt(l.Served())
}

// Guest returns the path of a guest's program. folder is its folder in build/guests. The error is a [NotBuilt].
func Guest(folder string) (string, error) {
	if path, ok := process.Bundled(filepath.Join("guests", filepath.FromSlash(folder), "run")); ok {
		return path, nil
	}
	return "", NotBuilt{folder}
}

// NotBuilt is the error for a guest that is not built.
type NotBuilt struct{ Folder string }

func (e NotBuilt) Error() string {
	return fmt.Sprintf("its guest is not built: guests/%s is not next to this program; `make guests` builds it, or names what this machine lacks", e.Folder)
}

// findBuilt returns the path of a file next to this program or on PATH, which a target of make builds.
func findBuilt(name, target string) (string, error) {
	if path, ok := process.Bundled(name); ok {
		return path, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s, which serves stock libraries, is neither next to this program nor on PATH; `make %s` builds it", exec.ErrNotFound, name, target)
}
