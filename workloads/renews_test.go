package workloads

import (
	"context"
	"os"
	"strings"
	"testing"
)

// docs/contributing/workload.md contains the text between the marks.

// example begins

// renews counts in two halves, and asks for more time between them.
var renews = Entry{
	Name:  "renews",
	About: "each client renews its lease in the middle of its work",
	New:   func(p Params) Workload { return renewing{p} },
}

type renewing struct{ Params }

func (w renewing) Run(ctx context.Context, c *Client) {
	w.turns(ctx, c, func() {
		tryOnce(ctx, c, w.ask(c, w.anyKey(c)), func(t *Attempt) {
			hold := w.started(ctx, t)
			count(ctx, t, hold/2)
			if t.Renew(ctx, w.TTL) == nil {
				count(ctx, t, hold/2)
			}
		})
	})
}

// example ends

// The documentation contains the tested code.
func TestExample(t *testing.T) {
	source, err := os.ReadFile("renews_test.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../docs/contributing/workload.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(source), "// example begins\n\n")
	example, _, _ = strings.Cut(example, "\n// example ends")
	if !strings.Contains(string(doc), "```go\n"+example+"```") {
		t.Errorf("docs/contributing/workload.md does not show the example:\n%s", example)
	}
}
