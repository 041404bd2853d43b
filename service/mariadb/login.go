package mariadb

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"lockbench/service"
)

// What two sides of a connection can agree on, of which each says what it can do.
const (
	canLongPassword    = 1 << 0 // which says as well: nothing of MariaDB's own
	canLongFlag        = 1 << 2
	canConnectWithDB   = 1 << 3
	canProtocol41      = 1 << 9
	canTLS             = 1 << 11
	canTransactions    = 1 << 13
	canSecure          = 1 << 15
	canMultiStatements = 1 << 16
	canMultiResults    = 1 << 17
	canPlugins         = 1 << 19
)

// agreed is what the relay and a server agree on, and what clients are told that the server can
// do. Messages after the login depend on it, so it must be the same for all three. It has what
// every client can do, and nothing that changes a message for one that did not ask for it.
const agreed = canLongPassword | canLongFlag | canConnectWithDB | canProtocol41 | canTransactions |
	canSecure | canMultiStatements | canMultiResults | canPlugins

// utf8mb4 is the number of utf8mb4_general_ci.
const utf8mb4 = 45

// native is the one way to give a password that is known here.
const native = "mysql_native_password"

// What a message of a server begins with.
const (
	isOK     = 0
	isError  = 0xff
	isSwitch = 0xfe
)

// messageMax bounds a message of the login.
const messageMax = 1 << 16

var errNoServer = errors.New("it does not speak as a server of MariaDB does")

// message is a message with its number.
func message(number byte, text []byte) []byte {
	return append([]byte{byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), number}, text...)
}

// hear reads a message, and no byte after it.
func hear(c io.Reader) (number byte, text []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	n := length(head[:])
	if n == 0 || n > messageMax {
		return 0, nil, errNoServer
	}
	text = make([]byte, n)
	_, err = io.ReadFull(c, text)
	return head[3], text, err
}

// length is that of a message that begins so.
func length(head []byte) int { return int(head[0]) | int(head[1])<<8 | int(head[2])<<16 }

// hello is what a server says first.
type hello struct {
	text     []byte
	numbers  int // where it is after the version
	can      uint32
	scramble []byte
}

// Where things are in it after the version, and how long that is with the scramble.
const (
	scrambleAt     = 4
	canLowAt       = 13
	canHighAt      = 18
	canExtendedAt  = 27
	scrambleRestAt = 31
	helloMin       = 44
)

func readHello(text []byte) (h hello, err error) {
	end := bytes.IndexByte(text, 0)
	if text[0] != 10 || end < 0 || len(text) < end+1+helloMin {
		return h, errNoServer
	}
	h.text, h.numbers = text, end+1
	rest := text[h.numbers:]
	h.can = uint32(binary.LittleEndian.Uint16(rest[canLowAt:])) | uint32(binary.LittleEndian.Uint16(rest[canHighAt:]))<<16
	h.scramble = slices.Concat(rest[scrambleAt:scrambleAt+8], rest[scrambleRestAt:scrambleRestAt+12])
	if h.can&canProtocol41 == 0 || h.can&canSecure == 0 || h.can&canPlugins == 0 {
		return h, errNoServer
	}
	return h, nil
}

// forClients is what it says, but for what is not agreed.
func (h hello) forClients() []byte {
	text := bytes.Clone(h.text)
	rest := text[h.numbers:]
	binary.LittleEndian.PutUint16(rest[canLowAt:], uint16(agreed&0xffff))
	binary.LittleEndian.PutUint16(rest[canHighAt:], uint16(agreed>>16))
	binary.LittleEndian.PutUint32(rest[canExtendedAt:], 0)
	return message(0, text)
}

// login begins on a connection, by TLS where that is asked for, and returns what the server had said
// first.
func login(ctx context.Context, c net.Conn, how service.Access) (net.Conn, hello, error) {
	_, text, err := hear(c)
	if err != nil {
		return nil, hello{}, err
	}
	if text[0] == isError {
		return nil, hello{}, refusal(text)
	}
	h, err := readHello(text)
	if err != nil {
		return nil, h, err
	}
	can := uint32(agreed &^ canConnectWithDB) // each client asks for its own
	number := byte(1)
	if how.TLS != nil {
		if h.can&canTLS == 0 {
			return nil, h, errors.New("it speaks no TLS, which the URL asks for")
		}
		can |= canTLS
		if _, err := c.Write(message(number, begin(can))); err != nil {
			return nil, h, err
		}
		if c, err = how.Secure(ctx, c); err != nil {
			return nil, h, err
		}
		number++
	}
	answer := append(begin(can), how.User...)
	answer = append(answer, 0)
	proof := prove(h.scramble, how.Password)
	answer = append(append(answer, byte(len(proof))), proof...)
	answer = append(append(answer, native...), 0)
	if _, err := c.Write(message(number, answer)); err != nil {
		return nil, h, err
	}
	return c, h, admitted(c, how)
}

// begin is what an answer begins with; alone it asks for TLS.
func begin(can uint32) []byte {
	text := binary.LittleEndian.AppendUint32(nil, can)
	text = binary.LittleEndian.AppendUint32(text, 1<<24-1)
	text = append(text, utf8mb4)
	return append(text, make([]byte, 23)...)
}

// prove shows that one knows a password, and does not tell it.
func prove(scramble []byte, password string) []byte {
	if password == "" {
		return nil
	}
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	proof := sha1.Sum(slices.Concat(scramble, twice[:]))
	for i := range proof {
		proof[i] ^= once[i]
	}
	return proof[:]
}

// waysMax is how many ways to prove it a server may ask for.
const waysMax = 4

// admitted waits for the server to let somebody in. It may ask for another proof.
func admitted(c net.Conn, how service.Access) error {
	for range waysMax {
		number, text, err := hear(c)
		switch {
		case err != nil:
			return err
		case text[0] == isOK:
			return nil
		case text[0] == isError:
			return refusal(text)
		case text[0] != isSwitch:
			return errNoServer
		}
		way, scramble, _ := bytes.Cut(text[1:], []byte{0})
		if string(way) != native || len(scramble) < 20 {
			return fmt.Errorf("the user %s must log in by %q, and lockbench can by %s alone: ALTER USER ... IDENTIFIED VIA %s USING PASSWORD('...')", how.User, way, native, native)
		}
		if _, err := c.Write(message(number+1, prove(scramble[:20], how.Password))); err != nil {
			return err
		}
	}
	return errNoServer
}

// refusal reads why a server lets nobody in.
func refusal(text []byte) error {
	if len(text) < 3 {
		return errNoServer
	}
	e := mysql.MySQLError{Number: binary.LittleEndian.Uint16(text[1:]), Message: string(text[3:])}
	if strings.HasPrefix(e.Message, "#") && len(e.Message) > 6 { // a state, where it says one
		copy(e.SQLState[:], e.Message[1:6])
		e.Message = e.Message[6:]
	}
	if strings.HasPrefix(string(e.SQLState[:]), "28") { // invalid authorization
		return &service.LoginError{Said: e.Message}
	}
	return fmt.Errorf("it lets nobody in: %w", &e)
}

// said tells whether an error is an answer of the server with one of the numbers.
func said(err error, numbers ...uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
}
