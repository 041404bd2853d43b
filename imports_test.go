package lockbench_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports checks which packages may import which.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("list the packages: %v", err)
	}
	packages := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages++
		if broken := brokenRule(p.ImportPath, p.Imports); broken != "" {
			t.Errorf("%s: %s", p.ImportPath, broken)
		}
	}
	if packages < 15 {
		t.Errorf("checked only %d packages", packages)
	}
}

// brokenRule returns the rule that a package breaks by its imports, or "".
func brokenRule(path string, imports []string) string {
	if !strings.HasPrefix(path, "lockbench/locks") {
		// Every package may use it: it opens files and does not import lockbench.
		imports = slices.DeleteFunc(slices.Clone(imports), func(i string) bool { return i == "lockbench/internal/regular" })
	}
	has := func(p string) bool { return slices.Contains(imports, p) }
	under := func(prefix string) bool {
		return slices.ContainsFunc(imports, func(i string) bool { return i == prefix || strings.HasPrefix(i, prefix+"/") })
	}
	for _, i := range imports {
		if (path == "lockbench/checker" || strings.HasPrefix(path, "lockbench/checker/")) && strings.HasPrefix(i, "lockbench") && i != "lockbench/internal/history" && i != "lockbench/internal/history/jepsen" && i != "lockbench/locks" && !strings.HasPrefix(i, "lockbench/checker/") {
			return "a checker depends on histories only, but imports " + i
		}
		if path == "lockbench/checker/internal/locksim" && strings.HasPrefix(i, "lockbench") {
			return "simulated locks must not share code with the judge, but import " + i
		}
		if path == "lockbench/locks" && strings.HasPrefix(i, "lockbench") {
			return "package locks must not import other packages, but imports " + i
		}
		// Kubernetes keeps its data in etcd.
		keepsIn := path == "lockbench/internal/service/kubernetes" && i == "lockbench/internal/service/etcd"
		if strings.HasPrefix(path, "lockbench/internal/service") && path != "lockbench/internal/service/catalog" && !keepsIn &&
			strings.HasPrefix(i, "lockbench") && i != "lockbench/locks" && i != "lockbench/internal/service" && i != "lockbench/internal/service/operator" {
			return "a service may import contracts only, but imports " + i
		}
		// The first version of the guest protocol has fields for Redis.
		if strings.HasPrefix(path, "lockbench/internal/") && !strings.HasPrefix(path, "lockbench/internal/service") && path != "lockbench/internal/virtual/simredis" && path != "lockbench/internal/guest" && !testSupport(path) && strings.HasPrefix(i, "lockbench/internal/service/") && i != "lockbench/internal/service/catalog" {
			return "only the catalog may import lock services, but this package imports " + i
		}
		if path == "lockbench/internal/history" && strings.HasPrefix(i, "lockbench") && i != "lockbench/locks" {
			return "history may import package locks only, but imports " + i
		}
	}
	program := path == "lockbench" || path == "lockbench/cmd/lockbench" || path == "lockbench/internal/docgen"
	switch {
	case has("lockbench/internal/virtual/search") && !program:
		return "only programs and the façade may import search"
	case has("lockbench/internal/run") && path != "lockbench/internal/virtual/search" && path != "lockbench/internal/campaign" && path != "lockbench/internal/conform" && !program:
		return "only search, campaign, conform, the program and the façade may import run"
	case has("lockbench/internal/trial") && path != "lockbench/internal/run" && path != "lockbench/internal/virtual/search" && path != "lockbench/internal/virtual/child" && path != "lockbench/internal/conform" && !program:
		return "only run, child, search, conform, the program and the façade may import trial"
	case (path == "lockbench/internal/trial" || path == "lockbench/internal/run") && (has("lockbench/internal/virtual/sim") || has("lockbench/internal/virtual/wasm")):
		return "a trial and a run must not depend on virtual time"
	case path == "lockbench/internal/trial" && (under("lockbench/checker") || under("lockbench/internal/report")):
		return "a trial must neither judge nor report"
	case !strings.HasPrefix(path, "lockbench/checker/internal/") &&
		has("lockbench/checker/internal/locksim"):
		return "simulated locks are for tests, and programs must not import them"
	case slices.ContainsFunc(imports, testSupport) && !testSupport(path):
		return "internal/testing is for tests, and programs must not import it"
	case under("lockbench/checker") && strings.HasPrefix(path, "lockbench/internal/world"):
		return "worlds must not depend on the judge"
	case under("lockbench/internal/world") && (path == "lockbench/internal/report" || strings.HasPrefix(path, "lockbench/internal/report/")):
		return "a report must not depend on worlds"
	case (under("lockbench/internal/world") || has("lockbench/nemesis")) && path == "lockbench/workloads":
		return "workloads must depend neither on worlds nor on faults"
	case has("lockbench/internal/virtual/sim") && path == "lockbench/nemesis":
		return "faults must not depend on the simulation, but on package world"
	case under("github.com/Shopify/toxiproxy/v2") && path != "lockbench/internal/world/proxy":
		return "only package proxy may import toxiproxy"
	case under("github.com/anishathalye/porcupine") && !strings.HasPrefix(path, "lockbench/checker"):
		return "only the checker may import porcupine"
	case (under("github.com/testcontainers/testcontainers-go") || under("github.com/moby/moby")) && path != "lockbench/internal/world/docker":
		return "only world docker may import container libraries"
	case under("github.com/alicebob/miniredis/v2") && path != "lockbench/internal/virtual/simredis" && path != "lockbench/internal/service/redis",
		path == "lockbench/internal/service/redis" && (has("github.com/alicebob/miniredis/v2") || has("github.com/alicebob/miniredis/v2/server")):
		return "only its model may import a server in memory"
	case oneService(imports) && servesAny(path):
		return "worlds, faults and workloads must not depend on a lock service"
	case has("lockbench/internal/virtual/simredis") && path != "lockbench/internal/service/catalog":
		return "only the catalog may import the model of a service"
	case under("github.com/tetratelabs/wazero") && path != "lockbench/internal/virtual/wasm":
		return "only internal/virtual/wasm may import wazero"
	case path == "lockbench/internal/virtual/wasm" && under("lockbench"):
		return "internal/virtual/wasm must not import lockbench packages"
	case under("lockbench/internal") && strings.HasPrefix(path, "lockbench/locks"):
		for _, i := range imports {
			// The package of a service has the names that its locks share with its servers.
			if strings.HasPrefix(i, "lockbench/internal") && i != "lockbench/internal/needs" && !strings.HasPrefix(i, "lockbench/internal/service/") {
				return "a lock must not depend on lockbench, but imports " + i
			}
		}
	}
	return ""
}

// oneService reports whether the imports contain a particular lock service.
func oneService(imports []string) bool {
	return slices.ContainsFunc(imports, func(i string) bool { return strings.HasPrefix(i, "lockbench/internal/service/") })
}

// testSupport reports whether a package is for tests only.
func testSupport(path string) bool { return strings.HasPrefix(path, "lockbench/internal/testing/") }

// servesAny reports whether a package must not depend on a particular lock service.
func servesAny(path string) bool {
	for _, p := range []string{"lockbench/internal/world", "lockbench/internal/virtual/sim", "lockbench/nemesis", "lockbench/workloads"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// The rules can fail.
func TestImportRulesBite(t *testing.T) {
	for _, broken := range []struct {
		path     string
		imported string
	}{
		{"lockbench/checker", "lockbench/internal/world"},
		{"lockbench/checker/hold", "lockbench/internal/world"},
		{"lockbench/checker/internal/locksim", "lockbench/checker"},
		{"lockbench/checker", "lockbench/checker/internal/locksim"},
		{"lockbench/internal/report", "lockbench/internal/run"},
		{"lockbench/internal/report", "lockbench/internal/virtual/search"},
		{"lockbench/internal/run", "lockbench/internal/virtual/search"},
		{"lockbench/internal/trial", "lockbench/internal/run"},
		{"lockbench/internal/trial", "lockbench/internal/virtual/search"},
		{"lockbench/internal/trial", "lockbench/checker"},
		{"lockbench/internal/trial", "lockbench/internal/virtual/sim"},
		{"lockbench/internal/run", "lockbench/internal/virtual/wasm"},
		{"lockbench/internal/trial", "lockbench/internal/report"},
		{"lockbench/internal/virtual/sim", "lockbench/internal/trial"},
		{"lockbench/internal/report", "lockbench/internal/world"},
		{"lockbench/internal/report/page", "lockbench/internal/world/local"},
		{"lockbench/internal/world/local", "lockbench/checker"},
		{"lockbench/workloads", "lockbench/internal/world"},
		{"lockbench/workloads", "lockbench/nemesis"},
		{"lockbench/nemesis", "lockbench/internal/virtual/sim"},
		{"lockbench/locks/setnx", "lockbench/internal/history"},
		{"lockbench/locks", "lockbench/internal/history"},
		{"lockbench/locks", "lockbench/internal/service/redis"},
		{"lockbench/internal/service/redis", "lockbench/locks/goredis"},
		{"lockbench/nemesis", "github.com/Shopify/toxiproxy/v2/toxics"},
		{"lockbench/internal/run", "github.com/anishathalye/porcupine"},
		{"lockbench/internal/run", "github.com/moby/moby/client"},
		{"lockbench/internal/virtual/sim", "github.com/tetratelabs/wazero"},
		{"lockbench/internal/virtual/wasm", "lockbench/internal/world"},
		{"lockbench/internal/virtual/sim", "github.com/alicebob/miniredis/v2"},
		{"lockbench/internal/service/redis", "github.com/alicebob/miniredis/v2"},
		{"lockbench/internal/virtual/sim", "lockbench/internal/virtual/simredis"},
		{"lockbench/internal/world/local", "lockbench/internal/service/redis"},
		{"lockbench/internal/run", "lockbench/internal/testing/trialtest"},
		{"lockbench/internal/virtual/sim", "lockbench/internal/service/catalog"},
		{"lockbench/nemesis", "lockbench/internal/service/redis"},
		{"lockbench/internal/run", "lockbench/internal/virtual/simredis"},
		{"lockbench/internal/service/redis", "lockbench/internal/world"},
		{"lockbench/internal/world/local", "github.com/testcontainers/testcontainers-go"},
	} {
		if brokenRule(broken.path, []string{broken.imported}) == "" {
			t.Errorf("%s may import %s", broken.path, broken.imported)
		}
	}
}

// TestContractImportsNothing: who implements the contract of a lock, or runs its suite, gets no dependency.
func TestContractImportsNothing(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./locks", "./locks/locktest").Output()
	if err != nil {
		t.Fatalf("list the packages: %v", err)
	}
	if got := strings.Fields(string(out)); !slices.Equal(got, []string{"lockbench/locks", "lockbench/locks/locktest"}) {
		t.Errorf("the contract of a lock and its suite import %v", got)
	}
}
