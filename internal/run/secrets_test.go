//go:build linux

package run

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lockbench/internal/report"
	"lockbench/internal/service/postgres"
	"lockbench/internal/testing/sitetest"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks"
)

// leakedPassword has letters that JSON, Go and URLs escape.
const leakedPassword = `s3cr3t "ä\&/w+rd% of-the-base`

// leakVariable passes the password to guests before the open request, which contains it.
const leakVariable = "LEAKED_PASSWORD"

// formsOf returns the forms in which guests print a text.
func formsOf(text string) []string {
	quoted, _ := json.Marshal(text)
	twice, _ := json.Marshal(string(quoted))
	forms := []string{text, strconv.Quote(text), strconv.QuoteToASCII(text), string(quoted), string(twice), url.QueryEscape(text), url.PathEscape(text)}
	for i, form := range forms {
		forms[i] = strings.Trim(form, `\"`)
	}
	return forms
}

// beLeakyGuest is a guest that writes its requests and the password to everything that lockbench reads.
func beLeakyGuest(habit string) int {
	leak := strings.Join(formsOf(os.Getenv(leakVariable)), " ")
	say := func(answer map[string]any) {
		line, _ := json.Marshal(answer)
		fmt.Println(string(line))
	}
	hello := map[string]any{"hello": "lockbench-guest/1", "name": leak, "version": leak, "family": "single-store", "service": "postgres", leak: leak}
	switch habit {
	case "family", "service":
		hello[habit] = leak
	case "model":
		hello[habit] = []string{leak}
	case "hello":
		hello[habit] = "lockbench-guest/0 " + leak
	case "no hello":
		fmt.Println(leak)
		fmt.Fprintln(os.Stderr, leak)
		return 1
	}
	say(hello)
	requests := bufio.NewScanner(os.Stdin)
	for n := 0; requests.Scan(); n++ {
		line := requests.Text()
		var r struct {
			ID          int64
			Op, Session string
		}
		_ = json.Unmarshal(requests.Bytes(), &r)
		if r.Op == "open" {
			leak = strings.Join(append(formsOf(line), leak, base64.StdEncoding.EncodeToString([]byte(line))), " ")
		}
		var answer map[string]any
		switch habit + " " + r.Op {
		case "refuses open":
			answer = map[string]any{"fail": "unsupported", "text": leak}
		case "fails open":
			answer = map[string]any{"unknown": leak}
		case "dies open":
			fmt.Fprint(os.Stderr, leak)
			return 1
		case "leaks close":
			fmt.Println(leak)
		default:
			answer = leakyAnswer(r.Op, r.Session, n, leak)
		}
		fmt.Fprintln(os.Stderr, n, leak)
		if answer != nil {
			answer["id"] = r.ID
			say(answer)
		}
	}
	return 0
}

// leakyAnswer returns an answer with a leak, a different one for each request.
func leakyAnswer(op, session string, n int, leak string) map[string]any {
	ok := map[string]any{"ok": true}
	switch kind := n % 40; {
	case op == "open" || op == "close":
		return ok
	case kind == 1:
		fmt.Println(leak)
	case kind == 3:
		fmt.Printf("{\"notice\":%q,\"session\":%q}\n", "lost", leak)
	case kind == 4:
		fmt.Printf("{\"notice\":%q,\"session\":%q}\n", "queued", leak)
		return ok
	case kind == 5:
		fmt.Printf("{\"notice\":%q}\n", leak)
	case kind == 7:
		fmt.Printf("{\"hello\":%q}\n", leak)
	case kind == 9:
		fmt.Printf("{\"id\":77777,\"unknown\":%q}\n", leak)
	case kind == 11:
		return map[string]any{"ok": true, "unknown": leak}
	case kind == 13:
		return map[string]any{"ok": leak}
	case kind == 15:
		return map[string]any{"fail": leak}
	case kind == 17:
		return map[string]any{"fail": "bad-request", "text": leak}
	case kind == 19 && op == "acquire":
		return map[string]any{"fail": "taken", "text": leak}
	case kind%2 == 0 && op == "acquire":
		return map[string]any{"ok": true, "nodes": []string{leak, session}, "until_ns": 5_000_000_000}
	case kind < 30 && op == "release":
		return map[string]any{"fail": "not-held", "text": leak}
	case kind < 30 && op == "check":
		return map[string]any{"fail": "lost", "text": leak}
	case kind < 30:
		return map[string]any{"unknown": leak}
	}
	return ok
}

// TestGuestsThatPrintSecrets finds no form of the password in results, in logs or on the screen, whatever a guest prints.
func TestGuestsThatPrintSecrets(t *testing.T) {
	site := sitetest.New(t, postgres.Service, locks.Single, "")
	servers := "postgres://postgres@" + site.Hosts() // which asks for no password
	program := trialtest.Program(t)
	guest := func(habit string) string {
		return fmt.Sprintf("cmd:%s=leaky-guest exec %s %q", trialtest.RoleVariable, os.Args[0], habit)
	}
	folder := t.TempDir()
	run := func(name string, words ...string) (code int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append(words, "--servers", servers)...)
		cmd.Env = append(os.Environ(), "LOCKBENCH_POSTGRES_PASSWORD="+leakedPassword, leakVariable+"="+leakedPassword)
		cmd.Dir = folder
		said, _ := cmd.CombinedOutput()
		if err := os.WriteFile(filepath.Join(folder, name+".screen"), said, 0o644); err != nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	}
	for _, habit := range []string{"family", "service", "hello", "no hello"} {
		if code := run(habit, "conform", "mine="+guest(habit)); code != 3 {
			t.Errorf("conform with a wrong %s ends with %d, want 3", habit, code)
		}
	}
	for habit, want := range map[string]int{"refuses": 2, "fails": 3, "dies": 3} {
		if code := run(habit, "conform", "mine="+guest(habit), "--json", "--junit", habit+".xml"); code != want {
			t.Errorf("conform of a guest that %s ends with %d, want %d", habit, code, want)
		}
	}
	for _, habit := range []string{"leaks", "refuses", "fails", "dies", "model"} {
		run("run "+habit, "run", "steady", "--episodes", "1", "--seed", "42", "--locks", "mine="+guest(habit), "--out", "results-"+habit)
	}
	bundle, err := report.Load(filepath.Join(folder, "results-leaks", report.LatestLink))
	if err != nil {
		t.Fatal(err)
	}
	masked := map[string]bool{}
	forms := formsOf(leakedPassword)
	for shift := range 3 { // base64 of any text with the password
		of := base64.StdEncoding.EncodeToString([]byte("   "[:shift] + leakedPassword))
		forms = append(forms, of[4:len(of)-4])
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		masked[filepath.Base(path)] = masked[filepath.Base(path)] || strings.Contains(string(text), "***")
		for _, form := range forms {
			if at := strings.Index(string(text), form); at >= 0 {
				t.Errorf("%s contains the password as %s:\n%s", path, form, text[max(0, at-300):min(len(text), at+100)])
				break
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The guests' texts are there, without the password.
	for _, name := range []string{
		"client-0.log", "lockbench.log", "history.jsonl", "result.json", "family.screen", "service.screen", "hello.screen",
		"no hello.screen", "refuses.screen", "fails.screen", "dies.screen", "run leaks.screen", "run fails.screen", "run dies.screen", "run model.screen",
	} {
		if !masked[name] {
			t.Errorf("%s has no masked text in %s", name, bundle.Dir)
		}
	}
}
