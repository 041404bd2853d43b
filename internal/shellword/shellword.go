// Package shellword quotes words for a shell, so that users can copy and run the commands that
// lockbench prints, whatever names of files and locks they contain.
package shellword

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote quotes a word for a shell if it contains special characters. A word with control characters becomes $'...',
// which bash, zsh and newer POSIX shells understand.
func Quote(word string) string {
	switch {
	case strings.ContainsFunc(word, isControl):
		escaped := strconv.Quote(word)
		return "$'" + strings.ReplaceAll(escaped[1:len(escaped)-1], "'", `\'`) + "'"
	case word != "" && !strings.ContainsAny(word, " \t\n'\"$`\\*?[]{}()<>|&;~#!"):
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isControl reports whether a terminal would interpret a character, or cannot show it.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf) || r == utf8.RuneError
}

// Join quotes words and puts them into one command.
func Join(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}
