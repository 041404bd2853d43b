//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"lockbench/internal/needs"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/locks"
	"lockbench/service"
	"lockbench/service/redis"
)

func TestPackHasProgramsAndLibraries(t *testing.T) {
	sh, err := process.Find(service.Executable{Name: "sh"}, "")
	if err != nil {
		needs.OrSkip(t, "docker", err)
	}
	programs := []program{{sh, []string{"sh", "ash"}}}
	packed := func() (digest string, image []byte) {
		c, err := gather(t.Context(), programs, service.Needs{})
		if err == nil {
			digest, err = c.digest()
		}
		if err == nil {
			image, err = c.pack()
		}
		if err != nil {
			t.Fatal(err)
		}
		return digest, image
	}
	one, packedOnce := packed()
	if other, again := packed(); one != other || !bytes.Equal(packedOnce, again) {
		t.Errorf("the same files make the same image, or its tag means nothing: %s, %s", one, other)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(packedOnce)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	libraries, err := librariesOf(t.Context(), sh, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append([]string{"/bin/sh", "/bin/ash", "/tmp/"}, libraries...) {
		if !slices.Contains(names, strings.TrimPrefix(want, "/")) {
			t.Errorf("the image has no %s; it has %v", want, names)
		}
	}
}

func TestFindProgramsSaysWhatIsMissing(t *testing.T) {
	// PATH is empty. Programs in /usr/sbin are found nevertheless, because PATH of many users lacks that folder.
	t.Setenv("PATH", t.TempDir())
	_, err := findPrograms(redis.Service{}, "")
	if err == nil || !strings.Contains(err.Error(), "apt-get install") || !strings.Contains(err.Error(), "redis-server") {
		t.Errorf("got %v", err)
	}
	if _, err := findPrograms(redis.Service{}, "/no/such/server"); err == nil || !strings.Contains(err.Error(), "/no/such/server") {
		t.Errorf("got %v", err)
	}
}

func TestLibrariesOfWhatIsNoProgram(t *testing.T) {
	text := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	// A script, like a static program, loads nothing.
	if got, err := librariesOf(t.Context(), text, false); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
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
	if err := errors.Join(addFile(b, "/bin/sh", alien, 0o755), b.Close()); err != nil {
		t.Fatal(err)
	}
	const name = "lockbench-test-alien:1"
	result, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &content, SourceName: "-"}, name,
		client.ImageImportOptions{Changes: []string{"ENV PATH=/bin"}})
	if err == nil {
		err = errors.Join(readProgress(result, nil), result.Close())
	}
	if err != nil {
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
	info, err := w.Image(t.Context(), redis.Service{})
	if err != nil || info.Built || info.Bytes == 0 || !strings.HasPrefix(info.Name, w.images(redis.Service{}).repository()+":") {
		t.Errorf("got %+v, %v", info, err)
	}
	if lines := w.Report(t.Context()); len(lines) < 2 || !strings.Contains(lines[1], info.Name) {
		t.Errorf("got %q", lines)
	}
	if w.About() == "" || w.Sketch(redistest.Spec(locks.Single, world.Spec{})).Topology().Name != locks.Single {
		t.Error("a world that is ready says what it is")
	}
}

// The progress of a fetch is reported every 10 MB, and errors in the daemon's messages are errors.
func TestReadProgress(t *testing.T) {
	var b strings.Builder
	for mb := range 13 {
		fmt.Fprintf(&b, `{"status":"Downloading","progressDetail":{"current":%d,"total":%d},"id":"a"}`+"\n", mb<<20, 12<<20)
		fmt.Fprintf(&b, `{"status":"Downloading","progressDetail":{"current":%d,"total":%d},"id":"b"}`+"\n", mb<<20, 30<<20)
		fmt.Fprintf(&b, `{"status":"Extracting","progressDetail":{"current":%d,"total":%d},"id":"a"}`+"\n", mb<<22, 12<<20)
	}
	var said []string
	err := readProgress(strings.NewReader(b.String()), func(line string) { said = append(said, line) })
	if want := []string{"fetched 10 of 42 MB, of what is known so far", "fetched 20 of 42 MB, of what is known so far"}; err != nil || !slices.Equal(said, want) {
		t.Errorf("got %q, %v", said, err)
	}
	if err := readProgress(strings.NewReader(`{"status":"x"}{"error":"manifest unknown"}`), nil); err == nil || err.Error() != "manifest unknown" {
		t.Errorf("got %v", err)
	}
}
