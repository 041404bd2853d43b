package run

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"lockbench/internal/needs"
	"lockbench/internal/report"
	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/trialtest"
)

// TestAutoFetchesWhatItNeeds runs lockbench on a machine with a Docker daemon but without redis-server and images. `auto`
// fetches an image from a test registry, whose content is built from programs of this machine. LOCKBENCH_LONG=1 runs the
// scenario failover, otherwise a shorter one.
func TestAutoFetchesWhatItNeeds(t *testing.T) {
	api := daemon(t)
	registry := ownRegistry(t)
	tag, digest := pushed(t, api, registry)
	base := tag + "@" + digest
	d := newBareDaemon(t)
	env := append(bareMachine(t), "DOCKER_HOST="+d.host, "LOCKBENCH_FETCH=redis="+base)
	t.Cleanup(func() {
		for _, name := range append(d.made(t, api), strings.TrimSuffix(tag, ":7-bookworm")+"@"+digest) {
			if _, err := api.ImageRemove(context.Background(), name, client.ImageRemoveOptions{Force: true, PruneChildren: true}); err != nil {
				t.Errorf("remove %s: %v", name, err)
			}
		}
	})
	lockbench := func(codes []int, words ...string) string {
		t.Helper()
		cmd := exec.Command(trialtest.Program(t), words...)
		cmd.Env = append(os.Environ(), env...)
		text, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || !slices.Contains(codes, exit.ExitCode())) {
			t.Fatalf("lockbench %s: %v\n%s", strings.Join(words, " "), err, text)
		}
		return string(text)
	}
	if said := lockbench(nil, "doctor"); !strings.Contains(said, "will fetch "+base) || !regexp.MustCompile(`auto +takes docker if that can be fetched within a minute, else sim`).MatchString(said) {
		t.Errorf("doctor says\n%s", said)
	}
	if n := d.fetches.Load(); n != 0 {
		t.Errorf("doctor fetched an image")
	}
	if said := lockbench(nil, "doctor", "--offline"); !strings.Contains(said, "auto      takes sim\n") || d.fetches.Load() != 0 {
		t.Errorf("--offline: fetched %d times, and printed\n%s", d.fetches.Load(), said)
	}
	scenario := "steady"
	if os.Getenv("LOCKBENCH_LONG") != "" {
		scenario = "failover"
	}
	out := t.TempDir()
	said := lockbench([]int{0, 1}, "run", scenario, "--locks", "set-nx", "--episodes", "1", "--seed", "1", "--out", out)
	if !strings.Contains(said, "world docker,") || !strings.Contains(said, "fetching "+base) || d.fetches.Load() != 1 {
		t.Errorf("fetched %d times, and printed\n%s", d.fetches.Load(), said)
	}
	files, _ := filepath.Glob(filepath.Join(out, scenario, "2*", report.ResultFile))
	if len(files) != 1 {
		t.Fatalf("results: %v; it says\n%s", files, said)
	}
	// The second time the image is already there.
	if said := lockbench(nil, "doctor"); d.fetches.Load() != 1 || !strings.Contains(said, " and nft, there already") || !strings.Contains(said, "auto      takes docker\n") {
		t.Errorf("then doctor says\n%s", said)
	}
}

// TestAutoPassesASilentRegistry: a registry that never answers costs the time limit, and auto takes the next world.
func TestAutoPassesASilentRegistry(t *testing.T) {
	daemon(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close() // until then it is silent
		}
	}()
	d := newBareDaemon(t)
	env := append(bareMachine(t), "DOCKER_HOST="+d.host, trialtest.RoleVariable+"=pick")
	cmd := exec.Command(os.Args[0], l.Addr().String()+"/redis:7", "300ms")
	cmd.Env = append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	want := `not docker: .*apt-get install redis-server .*; nor one from .*: not done after 300ms\nnot local: .*\ntakes sim`
	if !regexp.MustCompile(want).Match(said) || d.fetches.Load() != 1 {
		t.Errorf("fetched %d times, and printed\n%s", d.fetches.Load(), said)
	}
}

// bePick prints the choice of `auto`, given an image to fetch and a time limit.
func bePick(base, limit string) int {
	most, err := time.ParseDuration(limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	w, passed, err := Pick(context.Background(), "auto", WorldOptions{Bases: map[string]string{redis.Name: base}, FetchLimit: most})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, p := range passed {
		fmt.Printf("not %s: %v\n", p.World, p.Err)
	}
	fmt.Printf("takes %s\n", w.Name())
	return 0
}

// bareMachine returns an environment without redis-server.
func bareMachine(t *testing.T) []string {
	t.Helper()
	bin := t.TempDir()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(dir) // some do not exist
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "redis-") {
				_ = os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(bin, e.Name())) // the first counts
			}
		}
	}
	return []string{"PATH=" + bin, "XDG_CACHE_HOME=" + t.TempDir()}
}

// bareDaemon is the daemon of this machine without the images that lockbench made earlier.
type bareDaemon struct {
	host    string
	fetches atomic.Int64
	before  map[string]bool
}

func newBareDaemon(t *testing.T) *bareDaemon {
	t.Helper()
	api := daemon(t)
	onward, isFile := strings.CutPrefix(api.DaemonHost(), "unix://")
	if !isFile {
		needs.OrSkip(t, "docker", errors.New("the Docker daemon is not at a socket but at "+api.DaemonHost()))
	}
	d := &bareDaemon{before: map[string]bool{}}
	for _, name := range ours(t, api) {
		d.before[name] = true
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", onward)
	}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "docker"})
	proxy.Transport, proxy.FlushInterval = transport, -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // it logs every client that stops waiting
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/images/json") {
			return nil
		}
		var all []map[string]any
		if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
			return err
		}
		_ = r.Body.Close()
		all = slices.DeleteFunc(all, func(image map[string]any) bool {
			tags, _ := image["RepoTags"].([]any)
			return slices.ContainsFunc(tags, func(tag any) bool { return d.before[fmt.Sprint(tag)] })
		})
		text, err := json.Marshal(all)
		r.Body = io.NopCloser(bytes.NewReader(text))
		r.ContentLength = int64(len(text))
		r.Header.Set("Content-Length", fmt.Sprint(len(text)))
		return err
	}
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/images/create") {
			d.fetches.Add(1)
		}
		proxy.ServeHTTP(w, q)
	})}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
		transport.CloseIdleConnections()
	})
	d.host = "unix://" + socket
	return d
}

// made returns the images that a fetch has made. It leaves out images that another run of lockbench on this machine made.
func (d *bareDaemon) made(t *testing.T, api client.APIClient) []string {
	return slices.DeleteFunc(ours(t, api), func(name string) bool { return d.before[name] || !strings.Contains(name, ":registry-") })
}

// ours returns the names of all server images that lockbench has made.
func ours(t *testing.T, api client.APIClient) []string {
	t.Helper()
	all, err := api.ImageList(context.Background(), client.ImageListOptions{Filters: client.Filters{}.Add("label", "lockbench.image")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, image := range all.Items {
		names = append(names, image.RepoTags...)
	}
	return names
}

// ownRegistry starts Debian's docker-registry on a loopback address, where daemons need no TLS.
func ownRegistry(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	needs.OrSkip(t, "registry", err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	config := filepath.Join(t.TempDir(), "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %s}\n", t.TempDir(), at)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", config)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("no connection accepted after a minute"))
	defer cancel()
	if err := service.Poll(ctx, func() error {
		c, err := net.Dial("tcp", at)
		if err == nil {
			_ = c.Close()
		}
		return err
	}); err != nil {
		t.Fatalf("docker-registry: %v", err)
	}
	return at
}

// pushed pushes an image with redis-server and nft to a registry, removes it from the daemon and returns its name and
// digest.
func pushed(t *testing.T, api client.APIClient, registry string) (tag, digest string) {
	t.Helper()
	// A separate process makes the image, because a world in this process would keep its connection to the daemon.
	said, err := exec.Command(trialtest.Program(t), "doctor", "--images", "redis").Output()
	if err != nil {
		t.Fatal(err)
	}
	image, _, _ := strings.Cut(strings.TrimPrefix(string(said), "image     "), " ")
	// An image made from a container has a layer that the daemon does not have yet.
	made, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{Config: &container.Config{Image: image, Cmd: []string{"sh"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = api.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}()
	files, err := api.ContainerExport(t.Context(), made.ID, client.ContainerExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	name := registry + "/redis:7-bookworm"
	imported, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: files, SourceName: "-"}, name,
		client.ImageImportOptions{Changes: []string{"ENV PATH=/usr/local/bin:/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	all(t, imported)
	anonymous := base64.URLEncoding.EncodeToString([]byte("{}"))
	done, err := api.ImagePush(t.Context(), name, client.ImagePushOptions{RegistryAuth: anonymous})
	if err != nil {
		t.Fatal(err)
	}
	pushed := all(t, done)
	digest = regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(pushed[strings.LastIndex(pushed, "digest: "):])
	if _, err := api.ImageRemove(t.Context(), name, client.ImageRemoveOptions{Force: true, PruneChildren: true}); err != nil {
		t.Fatal(err)
	}
	return name, digest
}

func all(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || strings.Contains(string(text), `"error"`) {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}
