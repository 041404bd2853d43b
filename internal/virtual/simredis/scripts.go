package simredis

import (
	"crypto/sha1"
	_ "embed" // the list
	"encoding/hex"
	"fmt"
	"regexp"
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

// dispatchScript lets miniredis execute a script. Libraries look at the first word of a script's error, which must be that of
// a real server.
func (c *call) dispatchScript() {
	said := c.aside(c.peer, c.words()...)
	failed := scriptFailed.FindStringSubmatch(said)
	if failed == nil {
		c.peer.WriteRaw(said)
		return
	}
	if c.name == "EVAL" {
		// The server knows a script that was parsed, even if its execution failed.
		c.aside(c.peer, "SCRIPT", "LOAD", c.args[0])
	}
	c.peer.WriteRaw(scriptError(failed[1], failed[2], c.name, c.args))
}

var (
	scriptFailed = regexp.MustCompile(`^-ERR Error compiling script \(new function\): :(\d+): (.*?) stack traceback`)
	errorCode    = regexp.MustCompile(`^[A-Z]+ `)
)

// scriptError formats the error of a script, or of a command in it, like a real server.
func scriptError(line, text, name string, args []string) string {
	sha := args[0]
	if name == "EVAL" {
		sha = digest(args[0])
	}
	if !errorCode.MatchString(text) {
		text = fmt.Sprintf("ERR user_script:%s: %s", line, text)
	}
	return fmt.Sprintf("-%s script: %s, on @user_script:%s.\r\n", text, sha, line)
}
