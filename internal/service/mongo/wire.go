package mongo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/service"
)

// wire finds the messages of clients. A message begins with its length, its number, the number of
// the message that it answers, and its kind. The first name in its first document is the command.
var wire = service.Wire{Request: readRequest, Greetings: greetings, Sign: sign}

// Kinds of messages. A client may begin with a query, before it knows the version of the server.
const (
	opQuery   = 2004
	opMessage = 2013
)

// headLength is the length of the head of a message.
const headLength = 16

// ping is the command that checks a server.
var ping = question("admin", sign, 1, nil)

// sign is the name of ping. Drivers do not send it by themselves.
const sign = "ping"

// greetings are the commands that drivers send by themselves.
var greetings = []string{sign, "hello", "isMaster", "ismaster", "buildInfo", "saslStart", "saslContinue", "endSessions"}

// messageMax is more than a server takes in one message.
const messageMax = 64 << 20

// readRequest reads one message. Its name is the command that it carries.
func readRequest(data []byte) (name []byte, length int, err error) {
	if len(data) < 4 {
		return nil, 0, nil
	}
	n := binary.LittleEndian.Uint32(data)
	switch {
	case n < headLength || n > messageMax:
		return nil, 0, errors.New("not a message of MongoDB")
	case len(data) < int(n):
		return nil, 0, nil
	}
	return command(data[:n]), int(n), nil
}

// unread is the name of a message that is not read, such as a compressed one.
var unread = []byte("unread")

// command returns the name of the command in a message.
func command(message []byte) []byte {
	rest := message[headLength:]
	switch binary.LittleEndian.Uint32(message[12:]) {
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

// question returns a command to a database. Servers take the first name of a document for the command.
func question(database, command string, value any, arguments bson.M) bson.D {
	d := bson.D{{Key: command, Value: value}, {Key: "$db", Value: database}}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		d = append(d, bson.E{Key: name, Value: arguments[name]})
	}
	return d
}

// message returns a message with a document, which is a question or an answer.
func message(number uint32, document any) []byte {
	body, err := bson.Marshal(document)
	if err != nil {
		panic(err) // all documents are made here, of types that have a form in BSON
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(headLength+5+len(body)))
	for _, n := range []uint32{number, 0, opMessage, 0} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return append(append(b, 0), body...)
}
