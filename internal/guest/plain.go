package guest

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Most requests and answers are flat objects without escapes, and encoding/json took a fifth of the processor time of WASM
// guests. The functions here handle these objects and leave the others to encoding/json. A test compares both.

// readRequest reads a line of the host.
func readRequest(line string) (r Request, err error) {
	if plainRequest(line, &r) {
		return r, nil
	}
	r = Request{}
	err = json.Unmarshal([]byte(line), &r)
	return r, err
}

// plainRequest reads a flat object without blanks, the form in which the host writes requests. If it returns false, the
// line has another form and r is invalid.
func plainRequest(line string, r *Request) bool {
	rest, ok := strings.CutPrefix(line, "{")
	for ok {
		var name string
		if name, rest, ok = plainString(rest); !ok {
			return false
		}
		if rest, ok = strings.CutPrefix(rest, ":"); !ok {
			return false
		}
		switch name {
		case "id":
			r.ID, rest, ok = plainNumber(rest)
		case "op":
			r.Op, rest, ok = plainString(rest)
		case "session":
			r.Session, rest, ok = plainString(rest)
		case "key":
			r.Key, rest, ok = plainString(rest)
		case "owner":
			r.Owner, rest, ok = plainString(rest)
		case "ttl_ns":
			r.TTL, rest, ok = plainNumber(rest)
		case "wait_ns":
			r.Wait, rest, ok = plainNumber(rest)
		default:
			return false
		}
		if !ok || rest == "}" {
			return ok
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return false
}

// plainString cuts a string from the beginning of a text.
func plainString(text string) (s, rest string, ok bool) {
	if text, ok = strings.CutPrefix(text, `"`); !ok {
		return "", "", false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			return text[:i], text[i+1:], true
		case !plainByte(c):
			return "", "", false
		}
	}
	return "", "", false
}

// plainByte reports whether every encoder writes the byte unescaped in a JSON string.
func plainByte(c byte) bool {
	return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}

// plainNumber cuts a non-negative number from the beginning of a text.
func plainNumber(text string) (n int64, rest string, ok bool) {
	const digitsMax = 18 // avoids overflow
	i := 0
	for ; i < min(len(text), digitsMax) && '0' <= text[i] && text[i] <= '9'; i++ {
		n = n*10 + int64(text[i]-'0')
	}
	if i == 0 || i == digitsMax || i > 1 && text[0] == '0' {
		return 0, "", false
	}
	return n, text[i:], true
}

// marshalLine returns the answer as one line, in the bytes of encoding/json.
func (a Answer) marshalLine() ([]byte, error) {
	if a.Nodes != nil || !plainText(a.Fail) || !plainText(a.Unknown) || !plainText(a.Notice) || !plainText(a.Session) || !plainText(a.Text) {
		return marshalLine(a)
	}
	b := make([]byte, 1, 128)
	b[0] = '{'
	name := func(s string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, s...)
		b = append(b, '"', ':')
	}
	number := func(s string, n int64) {
		name(s)
		b = strconv.AppendInt(b, n, 10)
	}
	text := func(s, value string) {
		if value != "" {
			name(s)
			b = append(b, '"')
			b = append(b, value...)
			b = append(b, '"')
		}
	}
	yes := func(s string, is bool) {
		if is {
			name(s)
			b = append(b, "true"...)
		}
	}
	if a.ID != 0 {
		number("id", a.ID)
	}
	yes("ok", a.OK)
	text("fail", a.Fail)
	text("unknown", a.Unknown)
	if a.Until != nil {
		number("until_ns", *a.Until)
	}
	if a.Token != nil {
		name("token")
		b = strconv.AppendUint(b, *a.Token, 10)
	}
	if a.Lease != 0 {
		number("lease_ns", a.Lease)
	}
	yes("renewed", a.Renewed)
	text("notice", a.Notice)
	text("session", a.Session)
	text("text", a.Text)
	return append(b, '}', '\n'), nil
}

func plainText(s string) bool {
	for i := range len(s) {
		if !plainByte(s[i]) {
			return false
		}
	}
	return true
}

// marshalLine returns a value as one line of JSON.
func marshalLine(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	return append(line, '\n'), err
}
