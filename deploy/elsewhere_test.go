package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestBuildsElsewhere checks the types of all packages for other systems. It does not compile
// them, which would take minutes of CPU time for each system on a new machine. The bodies of
// functions in imported modules are skipped, and errors in these modules are ignored: a
// declaration that a system lacks is reported where lockbench uses it.
func TestBuildsElsewhere(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"darwin", "windows"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			all, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
					packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule,
				Env: append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0"),
				ParseFile: func(set *token.FileSet, name string, text []byte) (*ast.File, error) {
					file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
					if file != nil && !strings.HasPrefix(name, root+string(filepath.Separator)) {
						for _, d := range file.Decls {
							if f, ok := d.(*ast.FuncDecl); ok {
								f.Body = nil
							}
						}
					}
					return file, err
				},
			}, "lockbench/...")
			if err != nil {
				t.Fatal(err)
			}
			if len(all) < 50 {
				t.Errorf("%d packages were found, and there are more", len(all))
			}
			for _, p := range all {
				for _, err := range p.Errors {
					t.Errorf("%s: %v", p.PkgPath, err)
				}
			}
		})
	}
}
