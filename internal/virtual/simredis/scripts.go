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
	text, ok := scriptText(name, args)
	return ok && !c.foreign.Load() && !compared()[digest(text)]
}

// scriptText returns the script that a command brings as text. EVALSHA brings none; its script was brought before.
func scriptText(name string, args []string) (text string, ok bool) {
	switch {
	case name == "EVAL" && len(args) > 0:
		return args[0], true
	case name == "SCRIPT" && len(args) == 2 && strings.EqualFold(args[0], "load"):
		return args[1], true
	}
	return "", false
}

// digest returns the digest by which servers identify a script.
func digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
