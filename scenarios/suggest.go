package scenarios

import (
	"fmt"
	"strings"

	"lockbench/locks/catalog"
)

// suggestMax is the number of known words in a hint.
const suggestMax = 16

// suggest returns a hint with the nearest known word, or with the known words.
func suggest(word string, known []string, what string) string {
	if near, ok := catalog.Nearest(word, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "there are no " + what
	}
	tail := ""
	if len(known) > suggestMax {
		known, tail = known[:suggestMax], ", ..."
	}
	return what + ": " + strings.Join(known, ", ") + tail
}
