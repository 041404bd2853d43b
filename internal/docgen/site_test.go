package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lockbench/internal/testing/browsertest"
)

const (
	siteBatch = "Batch,Program,Judge,Machine,World,About,Seeds,Begun\n" +
		"one,\"lockbench 0.9.0 (v0.0.0-20261130000310-3aa227569fb7), go1.26.8, linux/amd64\",v0.0.0-20261130000310-3aa227569fb7,\"linux/amd64, 2 processors\",local,redis-server 7.0.15,1..3,2026-11-30\n"
	siteCells = "World,Scenario,Lock,Verdict,Class,Violating,Episodes,LostWrites,OutageS,Batch\n" +
		"local,failover,no-lock,violated,double-grant,3,3,700,0,one\n" +
		"local,failover,redisson,unknown,,0,0,0,20.22,one\n" +
		"local,failover,redlock,none,,,,,,one\n" +
		"local,failover,set-nx,violated,double-grant,9,10,12,1.69,one\n" +
		"local,pause-client,redisson-port/watchdog=2s,violated,overstay,2,10,,3.5,one\n" +
		"local,pause-client,etcd-mutex,violated,stale-write,1,10,4,,one\n" +
		"local,steady,set-nx,valid,,0,10,0,0.3,one\n" +
		"local,steady,mysql-row,violated,no-progress,1,10,0,100.5,one\n"
	siteStories = "World,Scenario,Lock,Seed,Text\n" +
		"local,failover,set-nx,2,\"set-nx granted \"\"a\"\" to client 5 while client 3 held it\tdouble-grant, episode 1\n" +
		"1.602 s\tfault\tlag: redis-2 and redis-3 hear nothing from redis-1\n4.212 s\tclient 5\tacquires \"\"a\"\"\tboth hold from\nWhy\tClient 3 had <5.692 s> of its lease left.\"\n"
)

// siteFolder is a folder with results, in which the test then runs.
func siteFolder(t *testing.T, cells, batches, stories string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.Mkdir("results", 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{cellsFile: cells, batchesFile: batches, storiesFile: stories} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSiteRefusesBadData: a page is not written from no data, damaged data, or cells of several commits, and an old page stays.
func TestSiteRefusesBadData(t *testing.T) {
	change := func(text, old, now string) string {
		changed := strings.Replace(text, old, now, 1)
		if changed == text {
			t.Fatalf("%q is not in the data", old)
		}
		return changed
	}
	second := "two,\"lockbench 0.9.0 (v0.0.0-20261129000310-0123456789ab), go1.26.8\",v0.0.0-20261130000310-3aa227569fb7,m,local,redis-server,1..1,2026-11-29\n"
	for _, c := range []struct{ name, cells, batches, stories, want string }{
		{"no file", "", siteBatch, siteStories, "Measure first"},
		{"empty file", "\n", siteBatch, siteStories, "cells.csv: the first line is not World,Scenario"},
		{"no cell", siteCells[:strings.Index(siteCells, "\n")+1], siteBatch, siteStories, "has no cell"},
		{"no batches", siteCells, "", siteStories, "batches.csv: no such file"},
		{"no stories", siteCells, siteBatch, "", "stories.csv: no such file"},
		{"too few fields", change(siteCells, "0.3,one", "0.3"), siteBatch, siteStories, "record on line 8: wrong number of fields"},
		{"other columns", change(siteCells, "Verdict,Class", "Class,Verdict"), siteBatch, siteStories, "the first line is not World,Scenario"},
		{"cut off", siteCells + "local,steady,\"set", siteBatch, siteStories, "damaged"},
		{"no number", change(siteCells, "0,10,0,0.3", "0,ten,0,0.3"), siteBatch, siteStories, "cells.csv:8: \"ten\" is not a figure"},
		{"infinite", change(siteCells, "0,10,0,0.3", "0,10,0,inf"), siteBatch, siteStories, "\"inf\" is not a figure"},
		{"half an episode", change(siteCells, "0,10,0,0.3", "0.5,10,0,0.3"), siteBatch, siteStories, "0.5 is not a number of episodes"},
		{"more than all", change(siteCells, "9,10,12", "11,10,12"), siteBatch, siteStories, "11 of 10 episodes"},
		{"negative time", change(siteCells, "0,10,0,0.3", "0,10,0,-0.3"), siteBatch, siteStories, "-0.3 is not a number of seconds"},
		{"no verdict", change(siteCells, "valid,,0,10", "fine,,0,10"), siteBatch, siteStories, "\"fine\" is not a verdict"},
		{"unknown lock", change(siteCells, "steady,set-nx", "steady,set-xn"), siteBatch, siteStories, "cells.csv:8: set-xn in steady, world local: no lock has this name"},
		{"unknown scenario", change(siteCells, "steady,set-nx", "unsteady,set-nx"), siteBatch, siteStories, "no scenario has this name"},
		{"unknown batch", change(siteCells, "0.3,one", "0.3,three"), siteBatch, siteStories, "batch \"three\", which results/batches.csv does not have"},
		{"twice", siteCells + "local,steady,set-nx,valid,,0,10,0,0.3,one\n", siteBatch, siteStories, "is there twice"},
		{"story of a valid cell", siteCells, siteBatch, change(siteStories, "failover", "steady"), "which is not a violated cell"},
		{"two commits", siteCells, siteBatch + second, siteStories, "batch two was measured by commit 0123456789ab, and batch one by 3aa227569fb7"},
		{"no commit", siteCells, change(siteBatch, "3aa227569fb7)", "3aa227569fb7+dirty)"), siteStories, "names no commit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			siteFolder(t, c.cells, c.batches, c.stories)
			if err := os.MkdirAll("build/site", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("build/site/index.html", []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			err := run([]string{"-site", "build/site"})
			if err == nil || exitCode(err) != 3 || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "easure") {
				t.Errorf("exit code %d: %v\nwant 3, %q and what to do", exitCode(err), err, c.want)
			}
			page, readErr := os.ReadFile("build/site/index.html")
			if left, err := os.ReadDir("build/site"); len(left) != 1 || string(page) != "old" {
				t.Errorf("the old page did not stay: %v, %v, %v", left, readErr, err)
			}
		})
	}
}

// TestSiteExitCodes: an error that is not about the data has another exit code.
func TestSiteExitCodes(t *testing.T) {
	siteFolder(t, siteCells, siteBatch, siteStories)
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-site", "file/site"}); exitCode(err) != 1 {
		t.Errorf("exit code %d: %v", exitCode(err), err)
	}
	if code := exitCode(fmt.Errorf("page: %w", badData{"none", "measure"})); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if exitCode(nil) != 0 || exitCode(errors.New("other")) != 1 {
		t.Error("other exit codes")
	}
}

// TestSiteOfResults: the results of the repository make a page, unless they are of several commits.
func TestSiteOfResults(t *testing.T) {
	inTopFolder(t)
	dir := t.TempDir()
	if err := run([]string{"-site", dir}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "index.html" {
		t.Fatalf("the folder has %v, %v", files, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := readTable[cell](cellsFile)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "<tbody id="); n != len(cells) {
		t.Errorf("the page has %d of %d cells", n, len(cells))
	}
}

const (
	locksShown = `[...document.querySelectorAll("#table tbody:not([hidden])")].map(b => b.id)`
	openCells  = `[...document.querySelectorAll("#table tbody")].filter(b => b.querySelector(".more").checkVisibility()).map(b => b.id)`
)

// siteIn makes the page of a few cells, and starts a browser.
func siteIn(t *testing.T) (b *browsertest.Browser, page string) {
	t.Helper()
	b = browsertest.Start(t)
	siteFolder(t, siteCells, siteBatch, siteStories)
	if err := run([]string{"-site", "site"}); err != nil {
		t.Fatal(err)
	}
	page, err := filepath.Abs("site/index.html")
	if err != nil {
		t.Fatal(err)
	}
	return b, page
}

// same compares lists.
func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A cell without a counterexample says why in words.
func TestSiteWithoutACounterexample(t *testing.T) {
	siteFolder(t, siteCells, siteBatch, siteStories)
	p, err := readPublished()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"no-lock": "a control", "redisson": "No episode counts", "redlock": "cannot take part", "mysql-row": "was not kept",
		"set-nx": "found in 10 counted episodes",
	}
	for _, c := range p.cells {
		r, err := p.rowOf(c)
		if err != nil || (r.Finding == "") != (r.Story != nil) || r.Story == nil && !strings.Contains(r.Finding, want[c.Lock]) {
			t.Errorf("%s: %q, %q, %v", r.ID, r.Finding, r.Story, err)
		}
	}
}

func TestSiteInABrowser(t *testing.T) {
	b, page := siteIn(t)
	for _, s := range browsertest.Screens {
		t.Run(s.String(), func(t *testing.T) {
			b.On(t, s)
			b.Open(t, page)
			b.Readable(t)
			same(t, "cells", browsertest.JS[[]string](t, b, openCells))
			if drawn := browsertest.JS[bool](t, b, `[...document.images].length > 0 && [...document.images].every(i => i.alt && (i.naturalWidth > 300 || !i.closest("details").open))`); !drawn {
				t.Error("a picture is not shown")
			}
			if wide := browsertest.JS[int](t, b, `(r => r.scrollWidth - r.clientWidth)(document.getElementById("table").parentElement)`); wide > 0 {
				t.Errorf("the table is %d pixels wider than its place", wide)
			}
			// The links open a cell by keyboard, and close it again.
			link := `a[href="#local/failover/set-nx"]`
			b.Do(t, chromedp.Focus(link, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
			same(t, "open", browsertest.JS[[]string](t, b, openCells), "local/failover/set-nx")
			b.Shot(t, "cells", s)
			b.Accessible(t)
			b.Readable(t)
			if got := b.Text(t, "tbody.open .more"); !strings.Contains(got, "both hold from") || !strings.Contains(got, "<5.692 s>") ||
				!strings.Contains(got, "lockbench run failover --world local --locks no-lock,set-nx --seed 2") {
				t.Errorf("the cell reads %q", got)
			}
			if got := browsertest.JS[string](t, b, `location.hash + " " + document.activeElement.getAttribute("aria-expanded")`); got != "#local/failover/set-nx true" {
				t.Errorf("the address and the link are %s", got)
			}
			b.Do(t, chromedp.KeyEvent(kb.Enter))
			same(t, "closed", browsertest.JS[[]string](t, b, openCells))

			// A column sorts in both directions. What was not measured is last.
			outage := `#table thead th:nth-child(9) button`
			b.Do(t, chromedp.Focus(outage, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
			byOutage := []string{"local/failover/no-lock", "local/steady/set-nx", "local/failover/set-nx", "local/pause-client/redisson-port/watchdog=2s",
				"local/failover/redisson", "local/steady/mysql-row", "local/failover/redlock", "local/pause-client/etcd-mutex"}
			same(t, "by outage", browsertest.JS[[]string](t, b, locksShown), byOutage...)
			b.Do(t, chromedp.KeyEvent(kb.Enter))
			slices.Reverse(byOutage[:6])
			same(t, "down", browsertest.JS[[]string](t, b, locksShown), byOutage...)
			same(t, "aria-sort", browsertest.JS[[]string](t, b, `[...document.querySelectorAll("#table [aria-sort]:not([aria-sort=none])")].map(h => h.innerText.trim() + " " + h.getAttribute("aria-sort"))`), "outage descending")
			b.Do(t, chromedp.Click(`#table thead th:nth-child(1) button`, chromedp.ByQuery))
			if got := browsertest.JS[[]string](t, b, locksShown); got[0] != "local/failover/no-lock" || got[7] != "local/steady/mysql-row" {
				t.Errorf("by scenario: %q", got)
			}

			// Tab goes from filter to filter. A text and a select filter together.
			b.Do(t, chromedp.Focus("#text", chromedp.ByQuery), chromedp.KeyEvent("redis set-nx"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
			same(t, "text", browsertest.JS[[]string](t, b, locksShown), "local/failover/set-nx", "local/steady/set-nx")
			b.Do(t, chromedp.KeyEvent("steady"))
			same(t, "text and scenario", browsertest.JS[[]string](t, b, locksShown), "local/steady/set-nx")
			if got := b.Text(t, "#count"); got != "1 of 8 cells" {
				t.Errorf("the count reads %q", got)
			}
			for by, want := range map[string]string{"w=local": "local/steady/set-nx", "f=majority": "", "l=redlock": "", "v=held": "local/steady/set-nx"} {
				name, value, _ := strings.Cut(by, "=")
				set := func(value string) []string {
					return browsertest.JS[[]string](t, b, fmt.Sprintf(`(() => { const s = document.querySelector("[data-by=%s]"); s.value = %q; s.dispatchEvent(new Event("input", {bubbles: true})); return %s; })()`, name, value, locksShown))
				}
				same(t, by, set(value), strings.Fields(want)...)
				set("")
			}
			b.Do(t, chromedp.Click("#filter button", chromedp.ByQuery))
			if got := b.Text(t, "#count"); got != "8 cells" {
				t.Errorf("after the reset the count reads %q", got)
			}

			// The address of a cell opens it.
			b.Do(t, chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+page+"#local/pause-client/redisson-port/watchdog=2s"))
			same(t, "by address", browsertest.JS[[]string](t, b, openCells), "local/pause-client/redisson-port/watchdog=2s")
		})
	}
	b.Calm(t)
}

// Without scripts the table is complete, and the address of a cell opens it.
func TestSiteWithoutScripts(t *testing.T) {
	b, page := siteIn(t)
	for _, s := range browsertest.Screens {
		b.On(t, s)
		b.Do(t, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate("file://"+page))
		if got := b.Text(t, "#table"); !strings.Contains(got, "20.22 s") || !strings.Contains(got, "9 of 10") || !strings.Contains(got, "61–99 %") {
			t.Errorf("the table reads %q", got)
		}
		b.Do(t, chromedp.Click(`a[href="#local/failover/set-nx"]`, chromedp.ByQuery))
		if got := b.Text(t, "#table"); strings.Count(got, "lockbench run") != 1 || !strings.Contains(got, "both hold from") {
			t.Errorf("opened, the table reads %q", got)
		}
	}
	b.Calm(t)
}
