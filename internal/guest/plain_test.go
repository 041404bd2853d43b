package guest

import (
	"encoding/json"
	"reflect"
	"testing"
)

// readRequest must read every line like encoding/json, and handle the host's usual lines without it.
func FuzzReadRequest(f *testing.F) {
	for _, line := range plainLines {
		f.Add(line)
	}
	for _, line := range []string{
		"", "{", "{}", "[]", `{"id":1}x`, `{"id":1,}`, `{"id":01,"op":"close"}`, `{"id":-1}`, `{"id":1.5}`, `{"id":1e3}`, `{"ID":7}`,
		`{"id":999999999999999999999}`, `{"id":100000000000000000}`, `{"id":1000000000000000000}`, `{"op":"a\"b"}`, `{"op":"é"}`, "{\"op\":\"\xff\"}",
		`{"op":"a","op":"b"}`, `{"id":1 }`, ` {"id":1}`, `{"id":null}`, `{"keys":["a","b"]}`, `{"op":5}`, `{"unheard":"of"}`, `{"mode":"shared"}`,
		`{"session":"<&>"}`, "{\"key\":\"\x01\"}", `{"id":}`, `{"id":0}`, `{"id":1"op":"a"}`, `{"client":3,"store":{"topology":"single"}}`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var want Request
		wantErr := json.Unmarshal([]byte(line), &want)
		got, err := readRequest(line)
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v (%v), want %+v (%v)", line, got, err, want, wantErr)
		}
	})
}

var plainLines = []string{
	`{"id":2,"op":"acquire","session":"3.1","key":"a","owner":"c3","ttl_ns":8000000000,"wait_ns":1000000000}`,
	`{"id":3,"op":"check","session":"3.1"}`,
	`{"id":4,"op":"renew","session":"3.1","ttl_ns":0}`,
	`{"id":5,"op":"close"}`,
}

func TestPlainRequests(t *testing.T) {
	for _, line := range plainLines {
		if !plainRequest(line, new(Request)) {
			t.Errorf("%s is left to encoding/json", line)
		}
	}
}

// An answer has the same bytes as from encoding/json.
func FuzzAnswerLine(f *testing.F) {
	f.Add(int64(1), true, "", "", int64(-1), uint64(0), int64(0), false, "", "", "", false)
	f.Add(int64(7), true, "", "", int64(8e9), uint64(1<<63), int64(2e9), true, "", "", "", true)
	f.Add(int64(7), false, "taken", "", int64(-1), uint64(0), int64(0), false, "", "", "set a: taken", false)
	f.Add(int64(8), false, "", `dial: "no" <such> & host é `+"\x00\xff\u2028", int64(-1), uint64(0), int64(-3), false, "", "", "", false)
	f.Add(int64(0), false, "", "", int64(-1), uint64(0), int64(0), false, "lost", "3.1", "", false)
	f.Fuzz(func(t *testing.T, id int64, yes bool, fail, unknown string, until int64, token uint64, lease int64, renewed bool, notice, session, text string, nodes bool) {
		a := Answer{ID: id, OK: yes, Fail: fail, Unknown: unknown, Lease: lease, Renewed: renewed, Notice: notice, Session: session, Text: text}
		if until >= 0 {
			a.Until = &until
		}
		if token > 0 {
			a.Token = &token
		}
		if nodes {
			a.Nodes = []string{"redis-1", fail}
		}
		want, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.marshalLine()
		if err != nil || string(got) != string(want)+"\n" {
			t.Errorf("got %q (%v), want %q", got, err, want)
		}
	})
}

// A new field of Answer must be added to marshalLine.
func TestAnswerHasNoOtherFields(t *testing.T) {
	const known = 12
	if n := reflect.TypeFor[Answer]().NumField(); n != known {
		t.Errorf("an answer has %d fields, and %d are written", n, known)
	}
}
