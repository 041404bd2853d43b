package history_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"lockbench\":\"history/1\"}\n" +
		"{\"process\":0,\"type\":\"invoke\",\"f\":\"acquire\",\"session\":\"s\",\"key\":\"a\"}\n" +
		"{\"process\":0,\"type\":\"ok\",\"f\":\"acquire\",\"session\":\"s\",\"until\":5e9}\n"))
	f.Add([]byte("{\"lockbench\":\"history/1\"}\n" +
		"{\"process\":\"probe\",\"type\":\"info\",\"f\":\"probe\",\"facts\":{\"a\":[1.5,{\"b\":\"\\u00e9\"}]},\"x\":[[]]}\n"))
	f.Add([]byte("{\"lockbench\":\"history/1\",\"model\":[\"fenced\"]}\n{\"process\":\"nemesis\",\"type\":\"in"))
	f.Fuzz(func(t *testing.T, data []byte) {
		historytest.BoundedMemory(t, len(data), func() { _, _ = history.Read(bytes.NewReader(data)) })
		h, err := history.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		// A history that was read can be written, and is the same when read again.
		var file bytes.Buffer
		if err := h.Encode(&file); err != nil {
			t.Fatal(err)
		}
		again, err := history.Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatalf("%v in %s", err, file.Bytes())
		}
		// Fields that are computed from the events are not compared.
		if diff := cmp.Diff(h, again, cmpopts.IgnoreFields(history.History{}, "Torn", "Warnings", "Lines"), cmpopts.EquateEmpty(),
			cmpopts.IgnoreUnexported(history.History{})); diff != "" {
			t.Fatal(diff)
		}
	})
}
