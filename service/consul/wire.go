package consul

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
)

// wire reads the requests of clients, which are HTTP/1.1. A request is named after its object and the
// action: SESSION-CREATE, KV-ACQUIRE.
type wire struct{}

// sign is the name of the request by which lockbench checks a server.
const sign = "STATUS-LEADER"

// watch is the name of a request whose answer waits until a key has changed.
const watch = "KV-WATCH"

// greetings are the requests that client libraries send by themselves while they hold a lock, and
// watches, whose answers come at a time that cannot be foreseen.
var greetings = []string{sign, "SESSION-RENEW", watch}

// Greeting reports whether a request keeps up what is held.
func (wire) Greeting(name string) bool { return slices.Contains(greetings, name) }

// Sign is the name of the request by which lockbench checks a server.
func (wire) Sign() string { return sign }

// bodyMax is more than a server takes in a request.
const bodyMax = 1 << 30

// Request reads one request, with the empty line that may stand before it.
func (wire) Request(data []byte) (name []byte, length int, err error) {
	head := bytes.TrimLeft(data, "\r\n")
	if !bytes.Contains(head, []byte("\n\r\n")) && !bytes.Contains(head, []byte("\n\n")) {
		return nil, 0, nil
	}
	rest := bytes.NewReader(head)
	buffered := bufio.NewReader(rest)
	r, err := http.ReadRequest(buffered)
	if err != nil {
		return nil, 0, err
	}
	if r.ContentLength > bodyMax {
		return nil, 0, errors.New("a request too large for Consul")
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, 0, nil // the body has not arrived as a whole
	}
	return called(r), len(data) - rest.Len() - buffered.Buffered(), nil
}

// called returns the name of a request.
func called(r *http.Request) []byte {
	path, isAPI := strings.CutPrefix(r.URL.Path, "/v1/")
	about, rest, _ := strings.Cut(path, "/")
	what, _, _ := strings.Cut(rest, "/")
	if about == "kv" {
		what = r.Method
		asked := r.URL.Query()
		switch {
		case r.Method == http.MethodGet && asked.Has("index"):
			return []byte(watch)
		case asked.Has("acquire"):
			what = "acquire"
		case asked.Has("release"):
			what = "release"
		}
	}
	if !isAPI || about == "" || what == "" {
		return []byte("?")
	}
	return []byte(strings.ToUpper(about + "-" + what))
}
