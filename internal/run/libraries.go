package run

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// Serve makes each stock library among some locks the guest that serves it in a world: a
// program where it runs programs, else a module. The other locks stay what they are.
func Serve(uses []scenarios.LockUse, w world.World) ([]scenarios.LockUse, error) {
	served := slices.Clone(uses)
	for i, u := range uses {
		entry, _ := catalog.Find(u.Use)
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
			quoted := []string{quote(program)}
			for _, word := range words {
				quoted = append(quoted, quote(word))
			}
			g.Command = strings.Join(quoted, " ")
		case entry.Library.Real:
			continue // the catalog says why it takes no part
		default:
			module, err := besideUs(catalog.LibraryModule)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", u.Name, err)
			}
			g.Module, g.Args = module, words
		}
	}
	return served, nil
}

// programOf is the path of the program that serves a library with some options.
func programOf(l *catalog.Library, options map[string]string) (string, error) {
	if folder := l.Guest(options); folder != "" {
		return Guest(folder)
	}
	return besideUs(catalog.LibraryProgram)
}

// Guest is the path of the program of a guest, by its folder in build/guests. Its error is a [NotBuilt].
func Guest(folder string) (string, error) {
	if path, ok := process.Bundled(filepath.Join("guests", filepath.FromSlash(folder), "run")); ok {
		return path, nil
	}
	return "", NotBuilt{folder}
}

// NotBuilt is the error for a guest that is not there.
type NotBuilt struct{ Folder string }

func (e NotBuilt) Error() string {
	return fmt.Sprintf("its guest is not built: guests/%s is not next to this program; `make guests` builds it, or names what this machine lacks", e.Folder)
}

// besideUs is the path of a file that is built together with this program, or is on PATH.
func besideUs(name string) (string, error) {
	if path, ok := process.Bundled(name); ok {
		return path, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s, which serves stock libraries, is neither beside this program nor on PATH; `make more` builds it", exec.ErrNotFound, name)
}

// quote is a word for the shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
