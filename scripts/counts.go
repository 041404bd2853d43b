//go:build ignore

// counts prints what there is to learn in a checkout: named types, the types with the most methods, and exported names.
//
//	go run scripts/counts.go [FOLDER]
//
// Tests do not count, and neither does what only they use (checker/internal/locksim, internal/testing). scripts/lines
// counts lines, and docs/contributing/architecture.md has the files on the way of two commands.
package main

import (
	"cmp"
	"fmt"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// counted is a named type.
type counted struct {
	name          string
	own, promoted int
}

func main() {
	folder := "."
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if err := count(folder); err != nil {
		fmt.Fprintln(os.Stderr, "counts:", err)
		os.Exit(1)
	}
}

func count(folder string) error {
	loaded, err := packages.Load(&packages.Config{
		Dir:  folder,
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedModule,
	}, "./...")
	if err != nil {
		return err
	}
	var all []counted
	exported := map[string]int{}
	names := 0
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return fmt.Errorf("%s: %v", p.PkgPath, p.Errors[0])
		}
		if forTests(p.PkgPath) {
			continue
		}
		for _, object := range p.TypesInfo.Defs {
			name, ok := object.(*types.TypeName)
			if !ok || name.IsAlias() {
				continue
			}
			if named, ok := name.Type().(*types.Named); ok {
				all = append(all, counted{
					name: strings.TrimPrefix(p.PkgPath, "lockbench/") + "." + name.Name(),
					own:  named.NumMethods(), promoted: types.NewMethodSet(types.NewPointer(named)).Len(),
				})
			}
		}
		if strings.Contains(p.PkgPath, "internal/") || p.Name == "main" {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			if p.Types.Scope().Lookup(name).Exported() {
				exported[p.PkgPath]++
				names++
			}
		}
	}
	fmt.Printf("%d named types\n", len(all))
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.own, a.own), cmp.Compare(a.name, b.name))
	})
	for _, t := range all[:10] {
		fmt.Printf("%4d methods, %d with those of embedded types: %s\n", t.own, t.promoted, t.name)
	}
	fmt.Printf("%d exported names outside internal\n", names)
	for _, p := range []string{"lockbench", "lockbench/locks", "lockbench/locks/locktest"} {
		fmt.Printf("%4d %s\n", exported[p], p)
	}
	return nil
}

// forTests reports whether programs do not use a package.
func forTests(path string) bool {
	return slices.ContainsFunc([]string{"lockbench/internal/testing", "lockbench/checker/internal/locksim",
		"lockbench/checker/bench", "lockbench/nemesis/faulttest"},
		func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") })
}
