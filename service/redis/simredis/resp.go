package simredis

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// parseCommands parses complete commands in the form that client libraries write. It skips everything else.
func parseCommands(b []byte) [][]string {
	commands, _ := parseWhole(b)
	return commands
}

// parseWhole is parseCommands, and reports whether the text contains nothing else.
func parseWhole(b []byte) (commands [][]string, whole bool) {
	for len(b) > 0 {
		command, rest := parseCommand(b)
		if command == nil {
			return commands, false
		}
		commands = append(commands, command)
		b = rest
	}
	return commands, true
}

func parseCommand(b []byte) (command []string, rest []byte) {
	n, b, ok := parseHead(b, '*')
	if !ok || n < 1 {
		return nil, nil
	}
	for range n {
		var size int
		if size, b, ok = parseHead(b, '$'); !ok || size < 0 || len(b) < size+2 {
			return nil, nil
		}
		command = append(command, string(b[:size]))
		b = b[size+2:]
	}
	return command, b
}

func parseHead(b []byte, kind byte) (n int, rest []byte, ok bool) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 1 || b[0] != kind {
		return 0, nil, false
	}
	n, err := strconv.Atoi(string(b[1:end]))
	return n, b[end+2:], err == nil
}

// elements splits the list in an answer into its elements. It returns nil for an answer that is not a list.
func elements(said string) (all []string) {
	count, rest, ok := parseHead([]byte(said), '*')
	if !ok {
		return nil
	}
	for range count {
		size := elementSize(rest)
		all = append(all, string(rest[:size]))
		rest = rest[size:]
	}
	return all
}

// elementSize returns the length of the first element of a text.
func elementSize(said []byte) int {
	line := bytes.Index(said, []byte("\r\n")) + 2
	if line < 2 {
		return len(said)
	}
	n, _ := strconv.Atoi(string(said[1 : line-2])) // the element has no parts if this is not a number
	size := line
	switch said[0] {
	case '$':
		if n >= 0 {
			size += n + 2
		}
		return min(size, len(said))
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		n = 0
	}
	for range max(n, 0) {
		size += elementSize(said[size:])
	}
	return size
}

// bulks formats a list of texts.
func bulks(items ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(items))
	for _, item := range items {
		b.WriteString(bulk(item))
	}
	return b.String()
}

// bulk formats a text, number a number, and failure an error.
func bulk(text string) string    { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
func number(n int) string        { return fmt.Sprintf(":%d\r\n", n) }
func failure(text string) string { return "-" + text + "\r\n" }
