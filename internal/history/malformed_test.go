package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMalformed reads each broken history in testdata/malformed and compares the
// rule and the message with the text next to it.
func TestMalformed(t *testing.T) {
	files, err := filepath.Glob("testdata/malformed/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			_, err := ReadFile(file)
			var m *Malformed
			if !errors.As(err, &m) {
				t.Fatalf("read it: %v; expected that it is malformed", err)
			}
			got := m.Rule + "\n" + m.Error() + "\n"
			golden := strings.TrimSuffix(file, ".jsonl") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got  %swant %s", got, want)
			}
		})
	}
}
