// Package shellword quotes words for a shell, so that users can copy and run the commands that
// lockbench prints, whatever names of files and locks they contain.
package shellword

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote quotes a word for a shell if it contains special characters. A word with control
// characters becomes $'...', which bash, zsh and newer POSIX shells understand.
func Quote(word string) string {
	if escaped, ok := escape(word); ok {
		return "$'" + escaped + "'"
	}
	if word != "" && !strings.ContainsAny(word, " \t\n'\"$`\\*?[]{}()<>|&;~#!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Join quotes words and puts them into one command.
func Join(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// escape returns a word for $'...'; ok is false if it needs none.
func escape(word string) (escaped string, ok bool) {
	var b strings.Builder
	for rest := word; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == '\n', r == '\t': // unchanged, also in single quotes
			b.WriteRune(r)
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && unicode.IsControl(r):
			ok = true
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case unicode.In(r, unicode.Cc, unicode.Cf):
			ok = true
			fmt.Fprintf(&b, `\u%04x`, r)
		case r == '\\', r == '\'':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
		rest = rest[size:]
	}
	return b.String(), ok
}
