package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"lockbench/internal/regular"
)

// Suffix is the usual end of a module's file name.
const Suffix = ".wasm"

// wasi is the only module that programs may import.
const wasi = "wasi_snapshot_preview1"

// magic begins every module.
var magic = []byte("\x00asm")

// Module is a compiled program.
type Module struct {
	Path string
	Sum  string // SHA-256 of the file, in hexadecimal digits

	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// buildHint describes how to build a module.
func buildHint(path string) string {
	return "build it with: GOOS=wasip1 GOARCH=wasm go build -o " + path + " ./guest"
}

// read reads a module's file.
func read(path string) (code []byte, sum string, err error) {
	code, err = regular.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("there is no module %s here; %s", path, buildHint(path))
	case err != nil:
		return nil, "", fmt.Errorf("read a module: %w", err)
	case !bytes.HasPrefix(code, magic):
		return nil, "", fmt.Errorf("%s is not a WebAssembly module; %s", path, buildHint(path))
	}
	digest := sha256.Sum256(code)
	return code, hex.EncodeToString(digest[:]), nil
}

// Sum returns the SHA-256 of a module's file in hexadecimal digits. For another file, the error describes how to
// build a module.
func Sum(path string) (string, error) {
	_, sum, err := read(path)
	return sum, err
}

// Load compiles a module, or loads it from a directory of compiled modules (see [CacheDir]), which may be empty.
func Load(ctx context.Context, path, cache string) (*Module, error) {
	code, sum, err := read(path)
	if err != nil {
		return nil, err
	}
	m := &Module{Path: path, Sum: sum}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(keptIn(cache, sum)))
	if m.compiled, err = m.runtime.CompileModule(ctx, code); err == nil {
		if err = m.fits(); err == nil {
			err = bind(ctx, m.runtime, m.compiled)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load the module %s: %w", path, err), m.Close(ctx))
	}
	return m, nil
}

// Close frees the module. Its machines must have ended.
func (m *Module) Close(ctx context.Context) error { return m.runtime.Close(ctx) }

// fits rejects a program for another host.
func (m *Module) fits() error {
	for _, f := range m.compiled.ImportedFunctions() {
		if library, name, _ := f.Import(); library != wasi {
			return fmt.Errorf("it wants the function %s of %s, and lockbench has those of %s alone; in Go that is GOOS=wasip1", name, library, wasi)
		}
	}
	if len(m.compiled.ImportedMemories()) > 0 {
		return errors.New("it wants a memory from outside, and lockbench gives none: build it without threads")
	}
	start, has := m.compiled.ExportedFunctions()[entry]
	if !has || len(start.ParamTypes())+len(start.ResultTypes()) > 0 {
		return fmt.Errorf("it exports no function %s, so it is a library and no program", entry)
	}
	if len(m.compiled.ExportedMemories()) == 0 {
		return errors.New("it exports no memory")
	}
	return nil
}

// entry is the start function of a program.
const entry = "_start"

// bind makes the functions of wasi that the module imports. An unknown one answers that it is not supported,
// because a program rarely calls all functions that its libraries import.
func bind(ctx context.Context, r wazero.Runtime, c wazero.CompiledModule) error {
	b := r.NewHostModuleBuilder(wasi)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	bound := map[string]bool{}
	for _, name := range fromWazero {
		bound[name] = true
	}
	for _, f := range c.ImportedFunctions() {
		_, name, _ := f.Import()
		if bound[name] {
			continue
		}
		bound[name] = true
		b.NewFunctionBuilder().WithGoModuleFunction(hosted(name, len(f.ParamTypes()), len(f.ResultTypes())), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// hosted is a WASI function as the module calls it.
func hosted(name string, params, results int) api.GoModuleFunction {
	call, known := functions[name]
	if !known || params != call.params {
		call.do = func(*Machine, memory, []uint64) errno { return errNoSys }
	}
	return api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
		m := ctx.Value(machineKey{}).(*Machine)
		e := call.do(m, memory{mod.Memory()}, stack)
		if results > 0 {
			stack[0] = uint64(e)
		}
	})
}

// machineKey is the context key of the machine that calls a function.
type machineKey struct{}

// IsFile reports whether a command is just the path of a module.
func IsFile(command string) bool {
	return strings.HasSuffix(command, Suffix) && !strings.ContainsAny(command, " \t'\"")
}
