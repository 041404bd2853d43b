package service

import (
	"bytes"
	"errors"
	"testing"
)

// line reads a request that is one line.
func line(data []byte) ([]byte, int, error) {
	text, _, ended := bytes.Cut(data, []byte("\n"))
	switch {
	case !ended:
		return nil, 0, nil
	case string(text) == "bad":
		return nil, 0, errors.New("bad")
	}
	return text, len(text) + 1, nil
}

func TestRequestWriter(t *testing.T) {
	for _, test := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"one by one", []string{"a\n", "b\n"}, "a b "},
		{"in pieces", []string{"a", "", "b\nc", "d", "\n"}, "ab cd "},
		{"two at once", []string{"a\nb\nc"}, "a b "},
		{"empty names are not counted", []string{"\n\na\n"}, "a "},
		{"nothing after an error", []string{"a\nbad\nb\n", "c\n"}, "a "},
		{"nothing after an endless request", []string{string(make([]byte, requestMax)), "x", "\na\n", "b\n"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []byte
			w := NewRequestWriter(Wire{Request: line}, func(name []byte) { got = append(append(got, name...), ' ') })
			for _, piece := range test.pieces {
				if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if string(got) != test.want {
				t.Errorf("requests %q, want %q", got, test.want)
			}
		})
	}
}
