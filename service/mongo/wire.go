package mongo

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
)

// wire reads what clients ask for. Each message begins with its length, and then has its
// number, that of the message it answers, and its kind. The first name in its first document
// is the command.
type wire struct{}

// Kinds of messages. A client may begin with a query, before it knows what a server speaks.
const (
	opQuery   = 2004
	opMessage = 2013
)

// headLength is that of what each message begins with.
const headLength = 16

// ping is the question for a sign of life.
var ping = document{{sign, int32(1)}, {"$db", "admin"}}

// sign is its name. Drivers do not ask it by themselves.
const sign = "ping"

// greetings are what drivers say by themselves. They are no part of what a lock asks for.
var greetings = []string{sign, "hello", "isMaster", "ismaster", "buildInfo", "saslStart", "saslContinue", "endSessions"}

// Greeting says whether a request is one that sets up a connection, or looks after it.
func (wire) Greeting(name string) bool { return slices.Contains(greetings, name) }

// Sign is the name of the request by which lockbench asks for a sign of life.
func (wire) Sign() string { return sign }

// Requests reads what one client sends on one connection.
func (wire) Requests(tell func(name []byte)) io.Writer { return &parser{tell: tell} }

// messageMax is more than a server takes in one message.
const messageMax = 64 << 20

// parser finds the messages, in whatever pieces they come.
type parser struct {
	tell func(name []byte)
	head []byte // what the message begins with, as far as it has come
	left int    // bytes of the message still to come
	over bool   // nothing more can be read
}

// looked is how much of a message is looked at: no name of a command is as long.
const looked = 256

// Write reads on.
func (p *parser) Write(data []byte) (int, error) {
	all := len(data)
	for len(data) > 0 && !p.over {
		if len(p.head) < 4 {
			n := min(len(data), 4-len(p.head))
			p.head, data = append(p.head, data[:n]...), data[n:]
			if len(p.head) == 4 {
				length := binary.LittleEndian.Uint32(p.head)
				p.left = int(length) - 4
				p.over = length < headLength || length > messageMax
			}
			continue
		}
		n := min(len(data), p.left)
		p.head = append(p.head, data[:min(n, max(0, looked-len(p.head)))]...)
		data, p.left = data[n:], p.left-n
		if p.left == 0 {
			p.tell(command(p.head))
			p.head = p.head[:0]
		}
	}
	return all, nil
}

// unread is the name of what nobody here reads, such as a message that was compressed.
var unread = []byte("unread")

// command is the name of what a message asks for.
func command(head []byte) []byte {
	rest := head[headLength:]
	switch binary.LittleEndian.Uint32(head[12:]) {
	case opMessage:
		// Flags, and a section of the kind 0, which is one document.
		if len(rest) < 5 || rest[4] != 0 {
			return unread
		}
		rest = rest[5:]
	case opQuery:
		// Flags, the name of a collection, and two numbers.
		_, behind, ok := bytes.Cut(rest[min(4, len(rest)):], []byte{0})
		if !ok || len(behind) < 8 {
			return unread
		}
		rest = behind[8:]
	default:
		return unread
	}
	// The length of the document, and the type of its first value.
	name, _, ok := bytes.Cut(rest[min(5, len(rest)):], []byte{0})
	if !ok || len(name) == 0 {
		return unread
	}
	return name
}

// message is a question as it is sent.
func message(number uint32, d document) []byte {
	body := d.bson()
	b := binary.LittleEndian.AppendUint32(nil, uint32(headLength+5+len(body)))
	for _, n := range []uint32{number, 0, opMessage, 0} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return append(append(b, 0), body...)
}
