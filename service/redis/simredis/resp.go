package simredis

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// parseCommands reads what a client wrote: whole commands, as client libraries
// write them. What cannot be read is left out.
func parseCommands(b []byte) [][]string {
	commands, _ := parseWhole(b)
	return commands
}

// parseWhole is parseCommands, and says whether that was all.
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

// bulks is a list of texts as a server sends it.
func bulks(items ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(items))
	for _, item := range items {
		b.WriteString(bulk(item))
	}
	return b.String()
}

// bulk is a text, number a number, and failure an error as a server sends them.
func bulk(text string) string    { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
func number(n int) string        { return fmt.Sprintf(":%d\r\n", n) }
func failure(text string) string { return "-" + text + "\r\n" }
