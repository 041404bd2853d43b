package simredis

import (
	"bytes"
	"strconv"
)

// parseCommands parses complete commands in the form that client libraries write, and reports whether the text contains
// nothing else. It is faster than a parser for all of RESP, and parses everything that clients write.
func parseCommands(b []byte) (commands [][]string, whole bool) {
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
