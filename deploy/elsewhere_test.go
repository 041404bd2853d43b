package deploy

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Everything builds for the systems that nobody here runs. Types are checked and nothing is
// compiled, which takes a processor minutes for each system on a new machine.
func TestBuildsElsewhere(t *testing.T) {
	for _, system := range []string{"darwin", "windows"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			all, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
					packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule,
				Env: append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0"),
			}, "lockbench/...")
			if err != nil {
				t.Fatal(err)
			}
			if len(all) < 50 {
				t.Errorf("%d packages were found, and there are more", len(all))
			}
			packages.Visit(all, nil, func(p *packages.Package) {
				for _, err := range p.Errors {
					t.Errorf("%s: %v", p.PkgPath, err)
				}
			})
		})
	}
}
