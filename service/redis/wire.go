package redis

import (
	"bytes"
	"io"
	"slices"
)

// wire reads the commands of clients.
type wire struct{}

// greetings are the commands by which client libraries set up a connection. They are no
// part of what a lock asks for.
var greetings = []string{"AUTH", "CLIENT", "CLUSTER", "COMMAND", "HELLO", "INFO", "PING", "PSUBSCRIBE", "PUNSUBSCRIBE",
	"READONLY", "ROLE", "SCRIPT", "SELECT", "SENTINEL", "SUBSCRIBE", "UNSUBSCRIBE"}

// Greeting says whether a command sets up a connection.
func (wire) Greeting(name string) bool { return slices.Contains(greetings, name) }

// Sign is the command that lockbench itself sends in a client's name.
func (wire) Sign() string { return "PING" }

// Requests reads what one client sends on one connection.
func (wire) Requests(tell func(name []byte)) io.Writer { return &parser{emit: tell} }

// Write reads on.
func (p *parser) Write(data []byte) (int, error) {
	p.feed(data)
	return len(data), nil
}

// parser finds the commands in what a client sends, in whatever pieces it comes.
// It reads the two forms that a Redis server reads:
//
//	*2\r\n$3\r\nGET\r\n$1\r\nk\r\n    an array of strings
//	GET k\r\n                          a line
//
// A command is told to emit when its last byte is there. After anything that a
// server would answer by closing the connection, the rest is ignored.
type parser struct {
	emit func(name []byte) // the name is valid during the call only

	at     place
	digits []byte // of the number being read
	args   int    // strings still to come, with the one being read
	skip   int    // bytes of the string and its \r\n still to come
	named  bool   // the command's name has been read
	name   []byte
	line   int // length of the line being read
}

// place is what the parser expects next.
type place uint8

const (
	atCommand     place = iota // the first byte of a command
	atCount                    // the number after *
	atCountEnd                 // the \n after it
	atString                   // the $
	atLength                   // the number after $
	atLengthEnd                // the \n after it
	atBytes                    // the string and its \r\n
	atLine                     // a command in one line
	atProtocolErr              // nothing any more
)

// The bounds that a Redis server sets, and one of our own.
const (
	argsMax   = 1024 * 1024
	stringMax = 512 << 20
	lineMax   = 64 << 10
	digitsMax = 20
	nameMax   = 40
)

func (p *parser) feed(data []byte) {
	for len(data) > 0 {
		switch p.at {
		case atProtocolErr:
			return
		case atBytes:
			data = p.bytes(data)
			continue
		}
		b := data[0]
		data = data[1:]
		switch p.at {
		case atCommand:
			p.begin(b)
		case atLine:
			p.lineByte(b)
		case atCount, atLength:
			p.number(b)
		case atCountEnd: // a server does not look whether it is \n
			p.at = atString
			if p.args <= 0 {
				p.at = atCommand
			}
		case atString:
			p.at, p.digits = atLength, p.digits[:0]
			if b != '$' {
				p.at = atProtocolErr
			}
		case atLengthEnd:
			p.at = atBytes
		}
	}
}

func (p *parser) begin(b byte) {
	p.name, p.named, p.line = p.name[:0], false, 0
	if b == '*' {
		p.at, p.digits = atCount, p.digits[:0]
		return
	}
	p.at = atLine
	p.lineByte(b)
}

func (p *parser) number(b byte) {
	if b != '\r' {
		p.digits = append(p.digits, b)
		if len(p.digits) > digitsMax {
			p.at = atProtocolErr
		}
		return
	}
	n, ok := number(p.digits)
	switch {
	case !ok:
		p.at = atProtocolErr
	case p.at == atCount && n <= argsMax:
		p.at, p.args = atCountEnd, n
	case p.at == atLength && n >= 0 && n <= stringMax:
		p.at, p.skip = atLengthEnd, n+len("\r\n")
	default:
		p.at = atProtocolErr
	}
}

// bytes takes what it can of a string and returns the rest of data.
func (p *parser) bytes(data []byte) []byte {
	n := min(len(data), p.skip)
	if !p.named {
		text := data[:max(0, min(n, p.skip-len("\r\n")))]
		for _, b := range text[:min(len(text), nameMax-len(p.name))] {
			p.name = append(p.name, upper(b))
		}
	}
	p.skip -= n
	if p.skip == 0 {
		p.named = true
		p.args--
		p.at = atString
		if p.args == 0 {
			p.emit(p.name)
			p.at = atCommand
		}
	}
	return data[n:]
}

func (p *parser) lineByte(b byte) {
	p.line++
	switch {
	case b == '\n':
		if len(p.name) > 0 {
			p.emit(p.name)
		}
		p.at = atCommand
	case p.line > lineMax:
		p.at = atProtocolErr
	case bytes.IndexByte([]byte(" \t\r"), b) >= 0:
		p.named = len(p.name) > 0
	case !p.named && len(p.name) < nameMax:
		p.name = append(p.name, upper(b))
	}
}

// number reads a decimal number as strictly as a server does.
func number(digits []byte) (int, bool) {
	negative := len(digits) > 1 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 10 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	n := 0
	for _, b := range digits {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = n*10 + int(b-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}
