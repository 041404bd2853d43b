package consul

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// wire reads what clients ask for: requests of HTTP/1.1, one after the other. They are called by
// what they are about and what is done to it: SESSION-CREATE, KV-ACQUIRE.
type wire struct{}

// sign is the name of the question by which lockbench asks for a sign of life.
const sign = "STATUS-LEADER"

// watch is the name of a question about a key whose answer waits until the key has changed.
const watch = "KV-WATCH"

// greetings are what client libraries say by themselves as long as they hold something. They
// are no part of what a lock asks for, and a watch is answered when nobody can foresee.
var greetings = []string{sign, "SESSION-RENEW", watch}

// Greeting says whether a request is one that looks after what is held.
func (wire) Greeting(name string) bool { return slices.Contains(greetings, name) }

// Sign is the name of the request by which lockbench asks for a sign of life.
func (wire) Sign() string { return sign }

// Requests reads what one client sends on one connection.
func (wire) Requests(tell func(name []byte)) io.Writer { return &parser{tell: tell} }

// headMax is more than a server takes in the head of a request, and bodyMax than it takes after it.
const (
	headMax = 1 << 20
	bodyMax = 1 << 30
)

// parser finds the requests, in whatever pieces they come.
type parser struct {
	tell func(name []byte)
	line []byte // that is being read, of the head or of a chunk
	head []byte // the lines of the head that are whole
	name []byte // of the request whose body is being read
	in   part
	left int  // bytes of the body or of the chunk still to come
	over bool // nothing more can be read
}

// part is what of a request comes next.
type part uint8

const (
	inHead part = iota
	inBody
	inSize    // the line that says how long a chunk is
	inChunk   // a chunk, and the end of its line
	inTrailer // the lines after the last chunk
)

// Write reads on.
func (p *parser) Write(data []byte) (int, error) {
	all := len(data)
	for len(data) > 0 && !p.over {
		if p.in == inBody || p.in == inChunk {
			n := min(len(data), p.left)
			data, p.left = data[n:], p.left-n
			switch {
			case p.left > 0:
			case p.in == inBody:
				p.end()
			default:
				p.in = inSize
			}
			continue
		}
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		p.line = append(p.line, data[:end]...)
		data = data[end:]
		p.over = len(p.head)+len(p.line) > headMax
		if !p.over && p.line[len(p.line)-1] == '\n' {
			p.read(p.line)
			p.line = p.line[:0]
		}
	}
	return all, nil
}

// read takes a whole line.
func (p *parser) read(line []byte) {
	empty := len(bytes.TrimRight(line, "\r\n")) == 0
	switch p.in {
	case inHead:
		// An empty line may stand before a request.
		if empty && len(p.head) == 0 {
			return
		}
		p.head = append(p.head, line...)
		if empty {
			p.begin()
		}
	case inSize:
		digits, _, _ := strings.Cut(string(line), ";")
		size, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 31)
		switch {
		case err != nil || size > bodyMax:
			p.over = true
		case size == 0:
			p.in = inTrailer
		default:
			p.in, p.left = inChunk, int(size)+len("\r\n")
		}
	case inTrailer:
		if empty {
			p.end()
		}
	}
}

// begin reads a head, and settles what follows it.
func (p *parser) begin() {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(p.head)))
	p.head = p.head[:0]
	switch {
	case err != nil || r.ContentLength > bodyMax:
		p.over = true
	case r.ContentLength < 0:
		p.name, p.in = called(r), inSize
	case r.ContentLength > 0:
		p.name, p.in, p.left = called(r), inBody, int(r.ContentLength)
	default:
		p.name = called(r)
		p.end()
	}
}

// end tells of a request whose last byte is there.
func (p *parser) end() {
	p.in = inHead
	p.tell(p.name)
}

// called is what a request is counted as.
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
