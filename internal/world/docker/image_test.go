//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// TestPack checks the content of an image. The same files must make the same image, or its tag means nothing.
func TestPack(t *testing.T) {
	files := t.TempDir()
	text, tool, link := filepath.Join(files, "a text"), filepath.Join(files, "bin", "tool"), filepath.Join(files, "link")
	err := errors.Join(
		os.WriteFile(text, []byte("one"), 0o600), os.Mkdir(filepath.Dir(tool), 0o755), os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755),
		os.Symlink(text, link), os.Symlink("/no/such/file", filepath.Join(files, "dangling")),
	)
	if err != nil {
		t.Fatal(err)
	}
	programs := []string{"sh,ash=sh", "tool=" + tool, "--", files}
	packed := func(mode string) string {
		out, err := pack(t.Context(), mode, programs)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	list, content := packed("list"), packed("tar")
	if packed("list") != list || packed("tar") != content {
		t.Error("the same files make another image")
	}
	got := map[string]*tar.Header{}
	for r := tar.NewReader(strings.NewReader(content)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix(h.Name, ".")] = h
	}
	for path, mode := range map[string]int64{"/": 0o755, "/bin/sh": 0o755, "/bin/ash": 0o755, "/tmp/": 0o1777, "/results/": 0o777, text: 0o644, link: 0o644, tool: 0o755} {
		if got[path] == nil || got[path].Mode != mode || got[path].Uid != 0 {
			t.Errorf("the image has %s as %+v; want mode %o", path, got[path], mode)
		}
	}
	// A program that is among the files looks for others next to itself.
	if h := got["/bin/tool"]; h == nil || h.Linkname != tool {
		t.Errorf("the image has /bin/tool as %+v", h)
	}
	if !strings.Contains(fmt.Sprint(slices.Collect(maps.Keys(got))), "/libc.so") {
		t.Errorf("the image lacks the C library; it has %v", slices.Sorted(maps.Keys(got)))
	}
	if err := os.WriteFile(text, []byte("two!"), 0o600); err != nil {
		t.Fatal(err)
	}
	if packed("list") == list {
		t.Error("a changed file makes no other image")
	}
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n:\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	programs = programs[:2]
	before := packed("list")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n.\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if packed("list") == before {
		t.Error("a changed program makes no other image")
	}
	if _, err := pack(t.Context(), "tar", []string{"no-such-program"}); err == nil || !strings.Contains(err.Error(), "there is no program no-such-program") {
		t.Errorf("got %v", err)
	}
}

func TestFindProgramsSaysWhatIsMissing(t *testing.T) {
	// PATH is empty. Programs in /usr/sbin are found nevertheless, because PATH of many users lacks that folder.
	t.Setenv("PATH", t.TempDir())
	_, err := findPrograms(redis.Service, "")
	if err == nil || !strings.Contains(err.Error(), "apt-get install") || !strings.Contains(err.Error(), "redis-server") {
		t.Errorf("got %v", err)
	}
	if _, err := findPrograms(redis.Service, "/no/such/server"); err == nil || !strings.Contains(err.Error(), "/no/such/server") {
		t.Errorf("got %v", err)
	}
}

// TestImageOfAnotherKind checks an image whose programs this machine cannot run.
func TestImageOfAnotherKind(t *testing.T) {
	w := newWorld(t)
	api := w.state.provider.Client()
	var content bytes.Buffer
	b := tar.NewWriter(&content)
	// The header of a program for an old architecture.
	alien := append([]byte("\x7fELF\x01\x02\x01"), make([]byte, 200)...)
	alien[17], alien[19], alien[23] = 2, 2, 1
	err := b.WriteHeader(&tar.Header{Name: "bin/sh", Mode: 0o755, Size: int64(len(alien))})
	if err == nil {
		_, err = b.Write(alien)
	}
	if err = errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	const name = "lockbench-test-alien:1"
	result, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &content, SourceName: "-"}, name,
		client.ImageImportOptions{Changes: []string{"ENV PATH=/bin"}})
	if err := awaitImage(t.Context(), "import it", result, err); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := api.ImageRemove(t.Context(), name, client.ImageRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}()
	err = New(Options{Services: onlyRedis, Images: map[string]string{redis.Name: name}}).Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), "another kind of processor") {
		t.Errorf("got %v", err)
	}
}

// TestImageThatIsNowhere checks the error for an image that no registry has.
func TestImageThatIsNowhere(t *testing.T) {
	newWorld(t)
	err := New(Options{Services: onlyRedis, Images: map[string]string{redis.Name: "127.0.0.1:9/lockbench-test/nowhere:1"}}).Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--image redis=") {
		t.Errorf("got %v", err)
	}
}

// TestImageIsMadeOnce checks that the second run uses the image of the first one.
func TestImageIsMadeOnce(t *testing.T) {
	w := newWorld(t)
	info, err := w.Image(t.Context(), redis.Service)
	if err != nil || info.Built || info.Bytes == 0 || !strings.HasPrefix(info.Name, "lockbench-redis:") {
		t.Errorf("got %+v, %v", info, err)
	}
	if lines := w.Report(t.Context()); len(lines) < 2 || !strings.Contains(lines[1], info.Name) {
		t.Errorf("got %q", lines)
	}
	if w.About() == "" || w.Sketch(redistest.Spec(locks.Single, world.Spec{})).Topology().Name != locks.Single {
		t.Error("a world that is ready says what it is")
	}
}

// TestAwaitImage: errors in the daemon's messages are errors.
func TestAwaitImage(t *testing.T) {
	for messages, want := range map[string]string{`{"status":"x"}`: "<nil>", `{"status":"x"}{"error":"unknown","errorDetail":{"message":"manifest unknown"}}`: "fetch it: manifest unknown"} {
		if err := awaitImage(t.Context(), "fetch it", io.NopCloser(strings.NewReader(messages)), nil); fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, want %s", messages, err, want)
		}
	}
}
