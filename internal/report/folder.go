package report

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
)

// FolderName is the name of a lock or scenario as a folder name on any system: "/" becomes "+", other unsafe
// characters are percent-escaped, and long names end in a hash.
func FolderName(name string) string {
	const nameMax = 120
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '/':
			b.WriteByte('+')
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '=',
			c == '.' && i > 0 && i < len(name)-1: // not hidden, not "..", and Windows drops a last dot
			b.WriteByte(c)
		default: // "+" and "%" too, so that two names never share a folder
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	folder := b.String()
	if len(folder) > nameMax {
		h := fnv.New64a()
		_, _ = io.WriteString(h, name) // a hash never fails
		folder = fmt.Sprintf("%s~%016x", folder[:nameMax-17], h.Sum64())
	}
	if folder == "" {
		return "%"
	}
	return folder
}
