package redis

import (
	"bytes"
	"errors"
	"strconv"

	"lockbench/internal/service"
)

// wire finds the commands of clients, in the two forms that a Redis server reads:
//
//	*2\r\n$3\r\nGET\r\n$1\r\nk\r\n    an array of strings
//	GET k\r\n                          a line
var wire = service.Wire{Request: readRequest, Greetings: greetings, Sign: "PING"}

// greetings are the commands by which client libraries set up a connection.
var greetings = []string{"AUTH", "CLIENT", "CLUSTER", "COMMAND", "HELLO", "INFO", "PING", "PSUBSCRIBE", "PUNSUBSCRIBE",
	"READONLY", "ROLE", "SCRIPT", "SELECT", "SENTINEL", "SUBSCRIBE", "UNSUBSCRIBE"}

// The bounds that a Redis server sets, and nameMax, beyond which a name is cut off.
const (
	argsMax   = 1024 * 1024
	stringMax = 512 << 20
	lineMax   = 64 << 10
	nameMax   = 40
)

// errProtocol stands for input that a server answers by closing the connection.
var errProtocol = errors.New("not a command of Redis")

// readRequest returns the name of the command at the beginning of data, in upper case, and its length.
func readRequest(data []byte) (name []byte, length int, err error) {
	words, length, err := ReadCommand(data)
	if len(words) > 0 {
		name = bytes.ToUpper(words[0][:min(len(words[0]), nameMax)])
	}
	return name, length, err
}

// ReadCommand reads the command at the beginning of data: its words and its length in bytes. The length is 0 if
// the last byte of the command has not arrived yet.
func ReadCommand(data []byte) (words [][]byte, length int, err error) {
	if data[0] != '*' {
		return lineCommand(data)
	}
	count, n, err := header(data, argsMax)
	if n == 0 || err != nil {
		return nil, 0, err
	}
	const wordsUsual = 8
	words = make([][]byte, 0, max(0, min(count, wordsUsual)))
	for range count {
		if n == len(data) {
			return nil, 0, nil
		}
		if data[n] != '$' {
			return nil, 0, errProtocol
		}
		size, head, err := header(data[n:], stringMax)
		switch {
		case err == nil && size < 0:
			return nil, 0, errProtocol
		case err != nil || head == 0 || n+head+size+len("\r\n") > len(data):
			return nil, 0, err
		}
		n += head
		words = append(words, data[n:n+size])
		n += size + len("\r\n")
	}
	return words, n, nil
}

// header reads the number of an array or a string, and returns the length of its line: 0 if the
// line has not arrived as a whole. A server does not check the character after \r.
func header(data []byte, most int) (number, length int, err error) {
	const digitsMax = 11
	end := 1
	for end < len(data) && data[end] != '\r' {
		if end > digitsMax {
			return 0, 0, errProtocol
		}
		end++
	}
	if end == len(data) {
		return 0, 0, nil
	}
	number, err = strconv.Atoi(string(data[1:end]))
	if err != nil || number > most || !plainNumber(data[1:end]) {
		return 0, 0, errProtocol
	}
	if length = end + len("\r\n"); length > len(data) {
		return 0, 0, nil
	}
	return number, length, nil
}

// plainNumber reports whether a whole number is written in the one way that a server reads: without a plus sign and
// leading zeros.
func plainNumber(digits []byte) bool {
	digits, negative := bytes.CutPrefix(digits, []byte("-"))
	return digits[0] != '+' && (digits[0] != '0' || len(digits) == 1 && !negative)
}

// lineCommand reads a command that is one line.
func lineCommand(data []byte) (words [][]byte, length int, err error) {
	line, _, ended := bytes.Cut(data, []byte("\n"))
	switch {
	case len(line) > lineMax:
		return nil, 0, errProtocol
	case !ended:
		return nil, 0, nil
	}
	words = bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
	return words, len(line) + 1, nil
}
