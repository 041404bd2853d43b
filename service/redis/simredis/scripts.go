package simredis

import (
	"crypto/sha1"
	_ "embed" // the list
	"encoding/hex"
	"strings"
	"sync"
)

// comparedText lists the scripts that the conformance file compares with a real server, each by its
// digest and its file. TestConformanceIsWhole rewrites it with -update.
//
//go:embed scripts.txt
var comparedText string

// compared are the digests of these scripts.
var compared = sync.OnceValue(func() map[string]bool {
	digests := map[string]bool{}
	for line := range strings.Lines(comparedText) {
		digest, _, _ := strings.Cut(line, " ")
		digests[digest] = true
	}
	return digests
})

// unknownScript reports whether a client sends a script that was not compared with a real server: the
// simulation might run it differently. Scripts of locks outside the catalog cannot be in the list, so
// only their commands are checked; docs/simulation.md says so.
func (c *cluster) unknownScript(name string, args []string) bool {
	var text string
	switch {
	case c.foreign.Load():
		return false
	case name == "EVAL" && len(args) > 0:
		text = args[0]
	case name == "SCRIPT" && len(args) == 2 && strings.EqualFold(args[0], "load"):
		text = args[1]
	default:
		return false // the text with this digest was checked when it came
	}
	return !compared()[digest(text)]
}

// digest returns the digest by which servers identify a script.
func digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
