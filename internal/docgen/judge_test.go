package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/checker"
)

// TestJudgeAgain: the result of a run says what an older rule decided, and the cells follow the histories.
func TestJudgeAgain(t *testing.T) {
	folder := t.TempDir()
	write := func(text string, name ...string) {
		path := filepath.Join(append([]string{folder}, name...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"schema":1,"scenario":"steady","world":"sim","seed":1,"locks":[{"lock":"set-nx/form=F1","verdict":"valid","episodes":1,"topology":"single"},
		{"lock":"flock","verdict":"unknown","unsupported":"no files here"}]}`, "1", "result.json")
	if _, err := judgedBelow(folder); err == nil || !strings.Contains(err.Error(), "set-nx/form=F1 in steady") {
		t.Errorf("without the history: %v", err)
	}
	var events []string
	for client := range 2 {
		events = append(events,
			fmt.Sprintf(`{"index":%d,"time":%d,"process":%d,"type":"invoke","f":"acquire","session":"%[3]d.1","key":"a","ttl":8000000000}`, 2*client, 2*client+1, client),
			fmt.Sprintf(`{"index":%d,"time":%d,"process":%d,"type":"ok","f":"acquire","session":"%[3]d.1","until":8000000000}`, 2*client+1, 2*client+2, client))
	}
	head := `{"lockbench":"history/1","scenario":"steady","lock":"set-nx","topology":"single","world":"sim","seed":1,"model":["mutex"],"claims":{"bounded":true}}`
	write(head+"\n"+strings.Join(events, "\n")+"\n", "1", "set-nx+form=F1", "history.jsonl")
	runs, err := judgedBelow(folder)
	if err != nil {
		t.Fatal(err)
	}
	if l := runs[0].Locks[0]; l.Verdict != checker.Violated || l.Class != checker.DoubleGrant || l.Lock != "set-nx/form=F1" {
		t.Errorf("%s is %s %s (%s), expected violated double-grant", l.Lock, l.Verdict, l.Class, l.Why)
	}
}
