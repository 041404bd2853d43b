package site_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/site"
	"lockbench/internal/stats"
)

var begun = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

// judge is the judge of the tests.
func judge(_ string, h *history.History) (report.Lock, error) {
	return report.NewLock(h, checker.Judge(h, checker.Options{})), nil
}

// ran leaves a run of so many days after the first, in which set-nx broke in so many of
// three episodes.
func ran(t testing.TB, out, scenario string, day, broke int) string {
	t.Helper()
	at := begun.AddDate(0, 0, day)
	b, err := report.Create(out, scenario, at, uint64(day))
	if err != nil {
		t.Fatal(err)
	}
	lock := func(name string, broke int) report.Lock {
		l := report.Lock{Lock: name, Topology: "single", Verdict: checker.Valid, AsExpected: true, Figures: stats.Figures{Episodes: 3, ViolatingEpisodes: broke}}
		if broke > 0 {
			l.Verdict, l.Class, l.AsExpected = checker.Violated, checker.DoubleGrant, false
		}
		return l
	}
	r := &report.Result{Schema: report.SchemaVersion, Scenario: scenario, World: "sim", Seed: uint64(day), Started: at, Locks: []report.Lock{lock("set-nx", broke), lock("redlock/nodes=3", 0)}}
	if err := b.WriteResult(r); err != nil {
		t.Fatal(err)
	}
	if err := b.Write("report.html", func(w io.Writer) error { _, err := io.WriteString(w, "<h1>report</h1>"); return err }); err != nil {
		t.Fatal(err)
	}
	return b.Dir
}

// serve serves a folder.
func serve(t testing.TB, o site.Options) *httptest.Server {
	t.Helper()
	o.Judge = judge
	s, err := site.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// ask is what a server answers; change may change the request.
func ask(t testing.TB, server *httptest.Server, path string, change func(*http.Request)) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

func TestNothingOutsideTheFolder(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "results")
	dir := ran(t, root, "failover", 1, 3)
	secret := filepath.Join(top, "secret.txt")
	const words = "not for readers"
	for _, err := range []error{
		os.WriteFile(secret, []byte(words), 0o644),
		os.WriteFile(filepath.Join(top, "result.json"), []byte(`{"schema":1,"scenario":"`+words+`"}`), 0o644),
		os.WriteFile(filepath.Join(root, ".hidden"), []byte(words), 0o644),
		os.Symlink(secret, filepath.Join(dir, "absolute.txt")),
		os.Symlink("../../../secret.txt", filepath.Join(dir, "relative.txt")),
		os.Symlink(top, filepath.Join(root, "up")),
		os.Symlink("failover", filepath.Join(root, "within")),
		os.Mkdir(filepath.Join(root, "failover", "linked"), 0o755),
		os.Symlink(filepath.Join(top, "result.json"), filepath.Join(root, "failover", "linked", "result.json")),
		os.Symlink(filepath.Join(top, "result.json"), filepath.Join(root, "failover", "linked", "plan.yaml")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	server := serve(t, site.Options{Root: root})
	run := "/failover/" + filepath.Base(dir)
	for _, path := range []string{run + "/absolute.txt", run + "/relative.txt", "/up/secret.txt", "/up/", "/.hidden", "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
		"/failover/..%2f..%2fsecret.txt", "/failover/linked/result.json", "/failover/linked/report.html", "/up/report.html", "//etc/passwd", "/"} {
		code, text, _ := ask(t, server, path, func(r *http.Request) { r.URL.Opaque = "//" + r.URL.Host + path })
		if strings.Contains(text, words) || path != "/" && code == http.StatusOK {
			t.Errorf("%s: %d %.100s", path, code, text)
		}
	}
	// A link that stays within is followed: latest is one.
	if code, text, _ := ask(t, server, "/within/"+filepath.Base(dir)+"/report.html", nil); code != http.StatusOK || !strings.Contains(text, "report") {
		t.Errorf("a link within the folder: %d %s", code, text)
	}
}

func TestReadOnlyUnderItsOwnName(t *testing.T) {
	root := t.TempDir()
	server := serve(t, site.Options{Root: root})
	for host, want := range map[string]int{"": 200, "localhost": 200, "localhost:8300": 200, "[::1]:8300": 200, "127.0.0.1:8300": 200,
		"evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:8300": 421, "127.0.0.1.nip.io": 421} {
		code, _, _ := ask(t, server, "/", func(r *http.Request) {
			if host != "" {
				r.Host = host
			}
		})
		if code != want {
			t.Errorf("as %q it answers %d, want %d", host, code, want)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if code, _, _ := ask(t, server, "/", func(r *http.Request) { r.Method = method }); code != http.StatusMethodNotAllowed {
			t.Errorf("%s is answered with %d", method, code)
		}
	}
}

// TestFiles: a history and other files are texts, and folders are listed.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	dir := ran(t, root, "failover", 1, 3)
	for name, text := range map[string]string{"history.jsonl": `{"index":1,"note":"<b>"}`, "summary.md": "# <b>"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := serve(t, site.Options{Root: root})
	path := "/failover/" + filepath.Base(dir) + "/"
	for name, want := range map[string][2]string{
		"history.jsonl": {"text/plain; charset=utf-8", `{"index":1,"note":"<b>"}`}, "summary.md": {"text/plain; charset=utf-8", "# <b>"},
		"result.json": {"application/json", `"schema": 1`}, "report.html": {"text/html; charset=utf-8", "<h1>report</h1>"},
		"": {"text/html; charset=utf-8", `<a href="history.jsonl">`},
	} {
		code, text, h := ask(t, server, path+name, nil)
		if code != http.StatusOK || h.Get("Content-Type") != want[0] || !strings.Contains(text, want[1]) {
			t.Errorf("%s: %d, %s, %.80s", name, code, h.Get("Content-Type"), text)
		}
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox allow-scripts") {
			t.Errorf("%s: its policy is %s", name, h.Get("Content-Security-Policy"))
		}
	}
	if code, _, h := ask(t, server, strings.TrimSuffix(path, "/"), nil); code/100 != 3 || !strings.HasSuffix(h.Get("Location"), "/") {
		t.Errorf("a folder without a slash: %d to %s", code, h.Get("Location"))
	}
}

func TestListOfRuns(t *testing.T) {
	root := t.TempDir()
	ran(t, root, "failover", 1, 3)
	ran(t, root, "a+b", 2, 0)
	campaign := filepath.Join(root, "matrix", "20261121-020000-7")
	ran(t, filepath.Join(campaign, "sim"), "steady", 3, 0)
	for _, name := range []string{"campaign.json", "report.html"} {
		if err := os.WriteFile(filepath.Join(campaign, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	unfinished := filepath.Join(root, "failover", "20261121-030000-8")
	changes := filepath.Join(ran(t, root, "changes", 4, 0), report.ResultFile)
	for _, err := range []error{
		os.Symlink("failover", filepath.Join(root, "latest")),
		os.Mkdir(unfinished, 0o755), os.WriteFile(filepath.Join(unfinished, report.PlanFile), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	server := serve(t, site.Options{Root: root, Campaign: func(dir string) (int, error) {
		if asked++; dir != campaign {
			t.Errorf("the campaign in %s, want %s", dir, campaign)
		}
		return report.ExitUnknown, nil
	}})
	ask(t, server, "/", nil)
	_, text, _ := ask(t, server, "/", nil)
	if asked != 1 {
		t.Errorf("the campaign was read %d times, and did not change", asked)
	}
	for _, want := range []string{
		`matrix/20261121-020000-7</a> <span class="badge unsure">undecided or not run</span>`, `<output id="count">4 runs</output>`,
		`<a href="/failover/20261102-020000-1/report.html">failover</a>`, `<a href="/a%252Bb/20261103-020000-2/report.html">a&#43;b</a>`,
		`<a href="/matrix/20261121-020000-7/sim/steady/20261104-020000-3/report.html">steady</a>`,
		`<a href="/matrix/20261121-020000-7/report.html">matrix/20261121-020000-7</a>`, `lockbench report ` + unfinished,
		`class="lock verdict-bad"><b>✗</b> <b>set-nx</b> violated double-grant</a>`, `class="lock verdict-valid"><b>set-nx</b> valid`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the list", want)
		}
	}
	if a, b := strings.Index(text, ">a&#43;b</a>"), strings.Index(text, ">failover</a>"); a > b {
		t.Error("the newest run is not the first")
	}
	if strings.Contains(text, "history gone") {
		t.Error("a result without a plan was kept without its histories, and counts as lost")
	}
	planned := filepath.Join(root, report.FolderName("a+b"), "20261103-020000-2", report.PlanFile)
	if err := os.WriteFile(planned, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, text, _ := ask(t, server, "/", nil); strings.Count(text, `<span class="badge unsure">history gone</span> <span class="of">set-nx, redlock/nodes=3</span>`) != 1 {
		t.Error("the list does not name the locks whose histories are gone")
	}
	// The same size and time but no valid content: it is not read again until it changes.
	info, err := os.Stat(changes)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true} {
		later := time.Duration(i) * time.Second
		for _, err := range []error{os.WriteFile(changes, make([]byte, info.Size()), 0o644), os.Chtimes(changes, time.Time{}, info.ModTime().Add(later))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, text, _ := ask(t, server, "/", nil); strings.Contains(text, ">cannot be read</span>") != want {
			t.Errorf("%v later, it was read again: %v, want %v", later, !want, want)
		}
	}
}

// BenchmarkList asks for the list of 2000 runs, all of which are known.
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	for day := range 2000 {
		ran(b, root, "failover", day, day%4)
	}
	server := serve(b, site.Options{Root: root})
	ask(b, server, "/", nil) // reads every result
	for b.Loop() {
		ask(b, server, "/", nil)
	}
}
