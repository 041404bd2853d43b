package service

import "io"

// Wire is how lockbench finds the requests in what clients send to a service.
type Wire struct {
	// Request reads the request at the beginning of data: its name and its length in bytes.
	// The length is 0 if the last byte of the request has not arrived yet, and the name is
	// empty for bytes that are not counted, such as an empty line. After an error, nothing more
	// of the connection can be read. Nil: lockbench cannot read the requests.
	Request func(data []byte) (name []byte, length int, err error)
	// Unread is the reason, if Request is nil. The plan prints it: no client can be stopped between
	// two of its requests.
	Unread error
	// Greetings are the names of the requests by which client libraries set up a connection or
	// keep it alive. Such a request is not part of the operation of a lock.
	Greetings []string
	// Sign is the name of the request by which [Servers.Greet] checks a server.
	Sign string
}

// requestMax bounds how much of an unfinished request is kept. Requests of locks are much smaller.
const requestMax = 16 << 20

// requests finds the requests of one connection in the pieces in which they arrive.
type requests struct {
	wire Wire
	tell func(name []byte)
	rest []byte // of a request whose last byte has not arrived
	over bool   // nothing more can be read
}

// NewRequestWriter returns a writer that takes what one client sends on one connection, and calls
// tell with the name of each request as soon as its last byte is written. Writing never fails.
func NewRequestWriter(w Wire, tell func(name []byte)) io.Writer {
	return &requests{wire: w, tell: tell}
}

func (r *requests) Write(data []byte) (int, error) {
	written := len(data)
	if r.over {
		return written, nil
	}
	if len(r.rest) > 0 {
		data = append(r.rest, data...)
	}
	for len(data) > 0 {
		name, n, err := r.wire.Request(data)
		if err != nil || n == 0 && len(data) > requestMax {
			r.over, r.rest = true, nil
			return written, nil
		}
		if n == 0 {
			break
		}
		if len(name) > 0 {
			r.tell(name)
		}
		data = data[n:]
	}
	r.rest = append(r.rest[:0], data...)
	return written, nil
}
