//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/service"
	"lockbench/service/redis"
	"lockbench/service/redis/redistest"
)

func TestPackHasProgramsAndLibraries(t *testing.T) {
	sh, err := lookPath("sh")
	if err != nil {
		skip(t, err.Error())
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
	one, image := packed()
	if other, again := packed(); one != other || !bytes.Equal(image, again) {
		t.Errorf("the same files make the same image, or its tag means nothing: %s, %s", one, other)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(image)); ; {
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
	// Nothing is on this PATH; what is in /usr/sbin is found all the same, as it would
	// be for somebody whose PATH has no such folder.
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

// TestImageOfAnotherKind is one whose programs this machine cannot run.
func TestImageOfAnotherKind(t *testing.T) {
	w := newWorld(t)
	api := w.state.provider.Client()
	var content bytes.Buffer
	b := tar.NewWriter(&content)
	// The head of a program for a machine of 1987.
	alien := append([]byte("\x7fELF\x01\x02\x01"), make([]byte, 200)...)
	alien[17], alien[19], alien[23] = 2, 2, 1
	if err := errors.Join(addFile(b, "/bin/sh", alien, 0o755), b.Close()); err != nil {
		t.Fatal(err)
	}
	const name = "lockbench-test-alien:1"
	result, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &content, SourceName: "-"}, name,
		client.ImageImportOptions{Changes: []string{"ENV PATH=/bin"}})
	if err == nil {
		err = errors.Join(readProgress(result), result.Close())
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

// TestImageThatIsNowhere: no registry has this one, whether one answers or not.
func TestImageThatIsNowhere(t *testing.T) {
	newWorld(t)
	err := New(Options{Services: onlyRedis, Images: map[string]string{redis.Name: "127.0.0.1:9/lockbench-test/nowhere:1"}}).Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--redis-image") {
		t.Errorf("got %v", err)
	}
}

// TestImageIsMadeOnce: the second time it is there.
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
