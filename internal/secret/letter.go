package secret

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// backslashesMax limits the backslashes of one escape. An escape that is itself escaped three times has fifteen.
const backslashesMax = 16

// match returns the length of a secret in any form at the beginning of a text, or 0. cut reports that the text ends within a
// form.
func match(text, secret string) (length int, cut bool) {
	ends := []int{0} // where the letters so far may end
	for _, r := range secret {
		var next []int
		for _, end := range ends {
			lengths, cutOff := letter(text[end:], r)
			cut = cut || cutOff
			for _, n := range lengths {
				if !slices.Contains(next, end+n) {
					next = append(next, end+n)
				}
			}
		}
		if len(next) == 0 {
			return 0, cut
		}
		ends = next
	}
	return slices.Max(ends), cut
}

// letter returns the lengths that a letter may have at the beginning of a text. The letter may stand for itself, or be
// escaped as in JSON, in string literals of Go and Python, in a shell, or in a URL, also several times. cut reports that the
// text ends within a form.
func letter(text string, r rune) (lengths []int, cut bool) {
	own := string(r)
	if strings.HasPrefix(text, own) {
		lengths = append(lengths, len(own))
	} else if strings.HasPrefix(own, text) {
		return nil, true
	}
	switch text[0] {
	case '+':
		if r == ' ' {
			lengths = append(lengths, 1)
		}
	case '%':
		forms := [][]string{inHex("", own)}
		if r == ' ' {
			forms = append(forms, []string{"2b"}) // a plus sign
		}
		cut = text == "%2"
		for _, form := range forms {
			n, cutOff := escapes(text, percent, form)
			if cut = cut || cutOff; n > 0 {
				lengths = append(lengths, n)
			}
		}
		for n := len("%25"); r == '%' && n <= percent(text); n += len("25") {
			lengths = append(lengths, n)
		}
	case '\\':
		for _, form := range escaped(r, text[backslashes(text):]) {
			n, cutOff := escapes(text, backslashes, form)
			if cut = cut || cutOff; n > 0 {
				lengths = append(lengths, n)
			}
		}
		for n := 2; r == '\\' && n <= backslashes(text); n *= 2 {
			lengths = append(lengths, n)
		}
	}
	return lengths, cut
}

// named are the letters that escapes have names for.
var named = map[rune]string{'\n': "n", '\r': "r", '\t': "t", '\b': "b", '\f': "f", '\v': "v", '\a': "a"}

// escaped returns the forms of a letter as escapes, without their backslashes. after is the text after the first of these.
func escaped(r rune, after string) [][]string {
	if after != "" && !strings.ContainsRune("uUx", rune(after[0])) {
		switch name := named[r]; {
		case name != "":
			return [][]string{{name}}
		case r < utf8.RuneSelf && r != '\\' && !alphanumeric(r):
			return [][]string{{string(r)}}
		}
		return nil
	}
	forms := [][]string{inHex("x", string(r)), {fmt.Sprintf("u%08x", r)}}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return append(forms, []string{fmt.Sprintf("u%04x", high), fmt.Sprintf("u%04x", low)})
	}
	return append(forms, []string{fmt.Sprintf("u%04x", r)})
}

func alphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// inHex returns each byte of a text in hexadecimal digits, after a prefix.
func inHex(prefix, text string) []string {
	var all []string
	for _, b := range []byte(text) {
		all = append(all, fmt.Sprintf("%s%02x", prefix, b))
	}
	return all
}

// backslashes returns the length of the backslashes that an escape begins with.
func backslashes(text string) int {
	n := 0
	for n < len(text) && n < backslashesMax && text[n] == '\\' {
		n++
	}
	return n
}

// percent returns the length of the percent sign that an escape in a URL begins with. It may itself be escaped.
func percent(text string) int {
	if !strings.HasPrefix(text, "%") {
		return 0
	}
	n := 1
	for strings.HasPrefix(text[n:], "25") {
		n += 2
	}
	return n
}

// escapes returns the length of escapes in a row at the beginning of a text, or 0. mark returns the length of their marks.
// cut reports that the text ends within them.
func escapes(text string, mark func(string) int, forms []string) (length int, cut bool) {
	for _, form := range forms {
		n := mark(text[length:])
		rest := text[length+n:]
		switch {
		case n > 0 && len(rest) >= len(form) && strings.EqualFold(rest[:len(form)], form):
			length += n + len(form)
		case rest == "" || n > 0 && len(rest) < len(form) && strings.EqualFold(rest, form[:len(rest)]):
			return 0, true
		default:
			return 0, false
		}
	}
	return length, false
}
