package simredis

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/service/redis"
)

// caller is the state of a connection that greetings set. Greetings are commands that client libraries send before the
// first command of the user.
type caller struct {
	mu       sync.Mutex // a client writes while its server reads
	id       int
	resp3    bool
	name     string
	tracking tracking
	// greeted means that the client has sent a command that is not a greeting. Later greetings travel through the network
	// like other commands, because an immediate answer would overtake other answers.
	greeted bool
	unknown []string // names of unknown commands in their original spelling
}

// standing is the state of the server in answers to greetings.
type standing struct {
	mode string
	role string // empty for a sentinel
}

// parseCommands parses complete commands in the form that client libraries write, and reports whether the text contains
// nothing else.
func parseCommands(b []byte) (commands [][]string, whole bool) {
	for len(b) > 0 {
		words, n, err := redis.ReadCommand(b)
		if err != nil || n == 0 || len(words) == 0 || b[0] != '*' {
			return commands, false
		}
		command := make([]string, len(words))
		for i, word := range words {
			command[i] = string(word)
		}
		commands = append(commands, command)
		b = b[n:]
	}
	return commands, true
}

// isGreeting reports whether [caller.greet] may answer a command.
func isGreeting(words []string) bool {
	return strings.EqualFold(words[0], "hello") || strings.EqualFold(words[0], "client")
}

// atOnce answers commands without delay if all of them are greetings.
func (c *caller) atOnce(t table, at standing, asked [][]string, whole bool) (reply string, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.greeted = c.greeted || !whole
	if c.greeted {
		return "", false
	}
	resp3, name, tracked := c.resp3, c.name, c.tracking
	var b strings.Builder
	for _, words := range asked {
		answer, known := "", isGreeting(words)
		if known {
			answer, known = c.reply(t, at, words)
		}
		if !known {
			// All or nothing. The greetings so far are executed again when they arrive.
			c.greeted = true
			c.resp3, c.name, c.tracking = resp3, name, tracked
			return "", false
		}
		b.WriteString(answer)
	}
	return b.String(), true
}

// reply answers a greeting, or returns its error.
func (c *caller) reply(t table, at standing, words []string) (reply string, known bool) {
	if text, wrong := t.misused(words, false); wrong {
		return proto.Error(text), true
	}
	return c.greet(at, words)
}

// greet answers a well-formed greeting. known is false if the simulation does not execute it like a real server.
func (c *caller) greet(at standing, words []string) (reply string, known bool) {
	if strings.EqualFold(words[0], "hello") {
		c.tracking.caching = false
		return c.hello(at, words), true
	}
	option := ""
	if len(words) > 2 {
		option = strings.ToUpper(words[2])
	}
	switch strings.ToUpper(words[1]) {
	case "ID":
		return fmt.Sprintf(":%d\r\n", c.id), true
	case "GETNAME":
		if c.name == "" {
			return c.null(), true
		}
		return proto.String(c.name), true
	case "SETNAME":
		if !validName(words[2]) {
			return proto.Error(badName), true
		}
		c.name = words[2]
		return okay, true
	case "GETREDIR":
		if c.tracking.on {
			return ":0\r\n", true
		}
		return ":-1\r\n", true
	case "NO-EVICT": // the simulation evicts nothing
		if option != "ON" && option != "OFF" {
			return proto.Error(syntaxError), true
		}
		return okay, true
	case "REPLY":
		switch option {
		case "ON":
			return okay, true
		case "OFF", "SKIP":
			return "", false
		}
		return proto.Error(syntaxError), true
	case "TRACKING":
		return c.track(option, words[3:])
	case "CACHING":
		return c.cache(option), true
	}
	return "", false
}

// hello answers HELLO like a server without a password.
func (c *caller) hello(at standing, words []string) string {
	version := 0
	if len(words) > 1 {
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return proto.Error("ERR Protocol version is not an integer or out of range")
		}
		if n != 2 && n != 3 {
			return proto.Error("NOPROTO unsupported protocol version")
		}
		version = int(n)
	}
	name, named, user := "", false, "default"
	for i := 2; i < len(words); i++ {
		switch more := len(words) - 1 - i; {
		case strings.EqualFold(words[i], "auth") && more >= 2:
			user = words[i+1]
			i += 2
		case strings.EqualFold(words[i], "setname") && more > 0:
			name, named = words[i+1], true
			if !validName(name) {
				return proto.Error(badName)
			}
			i++
		default:
			return proto.Error(fmt.Sprintf("ERR Syntax error in HELLO option '%s'", words[i]))
		}
	}
	if user != "default" {
		return proto.Error("WRONGPASS invalid username-password pair or user is disabled.")
	}
	if named {
		c.name = name
	}
	if version != 0 {
		c.resp3 = version == 3
	}
	speaks := 2
	if c.resp3 {
		speaks = 3
	}
	says := []string{proto.String("server"), proto.String("redis"), proto.String("version"), proto.String("7.0.15"),
		proto.String("proto"), proto.Int(speaks), proto.String("id"), proto.Int(c.id), proto.String("mode"), proto.String(at.mode)}
	if at.role != "" {
		says = append(says, proto.String("role"), proto.String(at.role))
	}
	says = append(says, proto.String("modules"), proto.Array())
	return c.mapOf(says)
}

// mapOf formats keys and values, pushed a message for a subscriber, and null and nullList nothing, each for the protocol
// version of the client.
func (c *caller) mapOf(says []string) string {
	if c.resp3 {
		return proto.Map(says...)
	}
	return proto.Array(says...)
}

func (c *caller) pushed(parts ...string) string {
	if c.resp3 {
		return proto.Push(parts...)
	}
	return proto.Array(parts...)
}

func (c *caller) null() string {
	if c.resp3 {
		return proto.NilResp3
	}
	return proto.Nil
}

func (c *caller) nullList() string {
	if c.resp3 {
		return proto.NilResp3
	}
	return proto.NilList
}

// fields formats a map of texts.
func (c *caller) fields(texts ...string) string {
	for i, text := range texts {
		texts[i] = proto.String(text)
	}
	return c.mapOf(texts)
}

// missing remembers the spelling of an unknown command: the server only gets the name in capitals.
func (c *caller) missing(t table, asked [][]string) {
	for _, words := range asked {
		if t[strings.ToLower(words[0])] == nil {
			c.mu.Lock()
			c.unknown = append(c.unknown, words[0])
			c.mu.Unlock()
		}
	}
}

// written returns the original spelling of a name.
func (c *caller) written(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.unknown {
		if strings.EqualFold(w, name) {
			c.unknown = c.unknown[i+1:]
			return w
		}
	}
	return name
}

const (
	okay        = "+OK\r\n"
	syntaxError = "ERR syntax error"
	badName     = "ERR Client names cannot contain spaces, newlines or special characters."
)

// validName reports whether a text is a valid name of a connection.
func validName(name string) bool {
	for _, b := range []byte(name) {
		if b < '!' || b > '~' {
			return false
		}
	}
	return true
}
