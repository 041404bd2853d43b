package zookeeper

import (
	"encoding/binary"
	"io"
	"slices"
	"strconv"
)

// wire reads what clients ask for: packets that begin with their length, the first of which
// opens a session. Of all others the number of the request comes first, then what it is. A
// connection may begin with a word of four letters in place of all that.
type wire struct{}

// What can be asked for.
const (
	opClose = -11
	opSync  = 9
)

// ops are the names under which requests are counted.
var ops = map[int32]string{
	0: "NOTIFICATION", 1: "CREATE", 2: "DELETE", 3: "EXISTS", 4: "GET-DATA", 5: "SET-DATA", 6: "GET-ACL", 7: "SET-ACL",
	8: "GET-CHILDREN", opSync: "SYNC", 11: "PING", 12: "GET-CHILDREN2", 13: "CHECK", 14: "MULTI", 15: "CREATE2",
	16: "RECONFIG", 17: "CHECK-WATCHES", 18: "REMOVE-WATCHES", 19: "CREATE-CONTAINER", 21: "CREATE-TTL", 22: "MULTI-READ",
	100: "AUTH", 101: "SET-WATCHES", 102: "SASL", 105: "SET-WATCHES2", 106: "ADD-WATCH", 107: "WHO-AM-I", opClose: "CLOSE",
}

// connect is the name of the packet that opens a session.
const connect = "CONNECT"

// greetings are what client libraries say by themselves. They are no part of what a lock
// asks for.
var greetings = []string{connect, "PING", "AUTH", "SASL", "SET-WATCHES", "SET-WATCHES2", "CLOSE", "RUOK"}

// Greeting says whether a request is one that sets up a session, or keeps it alive.
func (wire) Greeting(name string) bool { return slices.Contains(greetings, name) }

// Sign is the word by which lockbench asks for a sign of life.
func (wire) Sign() string { return "RUOK" }

// Requests reads what one client sends on one connection.
func (wire) Requests(tell func(name []byte)) io.Writer { return &parser{tell: tell} }

// packetMax is more than a server takes in one packet.
const packetMax = 64 << 20

// parser finds the requests, in whatever pieces they come.
type parser struct {
	tell func(name []byte)

	length []byte // of the packet, as far as it has come
	head   []byte // what it begins with
	left   int    // bytes of it still to come
	begun  bool   // a session was asked for
	over   bool   // nothing more can be read
}

// headLength is how much of a request says what it is.
const headLength = 8

// Write reads on.
func (p *parser) Write(data []byte) (int, error) {
	all := len(data)
	for len(data) > 0 && !p.over {
		if len(p.length) < 4 {
			n := min(len(data), 4-len(p.length))
			p.length, data = append(p.length, data[:n]...), data[n:]
			if len(p.length) == 4 {
				p.begin()
			}
			continue
		}
		n := min(len(data), p.left)
		p.head = append(p.head, data[:min(n, headLength-len(p.head))]...)
		data, p.left = data[n:], p.left-n
		if p.left == 0 {
			p.end()
		}
	}
	return all, nil
}

func (p *parser) begin() {
	n := binary.BigEndian.Uint32(p.length)
	switch {
	case string(p.length) == sign:
		p.tell([]byte(wire{}.Sign()))
		p.over = true
	case n == 0 || n > packetMax: // or another word of four letters
		p.over = true
	}
	p.left = int(n)
}

func (p *parser) end() {
	switch {
	case !p.begun:
		p.begun = true
		p.tell([]byte(connect))
	case len(p.head) == headLength:
		op := int32(binary.BigEndian.Uint32(p.head[4:]))
		name, known := ops[op]
		if !known {
			name = "OP-" + strconv.Itoa(int(op))
		}
		p.tell([]byte(name))
	}
	p.length, p.head = p.length[:0], p.head[:0]
}
