package simredis

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// miniredis creates a Lua machine for every call of a script, which costs more than the rest of a
// command. Nearly all locks are released by the same script:
//
//	if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0
//
// and renewed by the same with pexpire. These two, recognized by their text, are executed without Lua
// where they cannot fail, and by Lua otherwise. TestShortcut compares the answers and the data of both
// ways.
type shortcut int

const (
	noShortcut shortcut = iota
	deleteIfMine
	expireIfMine
)

var (
	luaComment = regexp.MustCompile(`(?m)--.*$`)
	ifMine     = regexp.MustCompile(`^if redis\.call\(['"]get['"], ?KEYS\[1\]\) == ARGV\[1\] then ` +
		`return redis\.call\(['"](del|pexpire)['"], ?KEYS\[1\](, ?ARGV\[2\])?\) (?:end return 0|else return 0 end)$`)
)

// shortcutOf recognizes a script by its text.
func shortcutOf(script string) shortcut {
	found := ifMine.FindStringSubmatch(strings.Join(strings.Fields(luaComment.ReplaceAllString(script, "")), " "))
	switch {
	case found == nil:
		return noShortcut
	case found[1] == "del" && found[2] == "":
		return deleteIfMine
	case found[1] == "pexpire" && found[2] != "":
		return expireIfMine
	}
	return noShortcut
}

// scripts are the scripts that a process knows, by digest. process.exec guards them.
type scripts map[string]shortcut

// learn stores the shortcut of a script that a client sends as text, for as long as the process keeps the script.
func (s scripts) learn(name string, args []string) {
	text, ok := scriptText(name, args)
	if !ok {
		return
	}
	sha := digest(text)
	if _, known := s[sha]; !known {
		s[sha] = shortcutOf(text)
	}
}

// withoutLua executes a script without Lua if possible. The caller must hold exec.
func (c *call) withoutLua() (done bool) {
	switch c.name {
	case "EVALSHA":
		return c.short(c.args)
	case "EVAL":
		c.scripts.learn(c.name, c.args)
		if done = c.short(append([]string{digest(c.args[0])}, c.args[1:]...)); done {
			c.aside(c.peer, "SCRIPT", "LOAD", c.args[0]) // the server knows a script that it has executed
		}
	}
	return done
}

// short executes a known script without Lua if possible. The caller must hold exec.
func (c *call) short(args []string) (done bool) {
	if len(args) < 4 || args[1] != "1" || c.node.role.readonly.Load() {
		return false
	}
	what, key, token := c.scripts[args[0]], args[2], args[3]
	var ttl time.Duration
	switch what {
	case noShortcut:
		return false
	case expireIfMine:
		if len(args) < 5 {
			return false
		}
		millis, err := strconv.ParseInt(args[4], 10, 64)
		if err != nil || millis < 1 || millis > int64(24*365*time.Hour/time.Millisecond) {
			return false
		}
		ttl = time.Duration(millis) * time.Millisecond
	}
	db := c.keys.db()
	switch db.Type(key) {
	case "":
		c.peer.WriteInt(0)
		return true
	case "string":
	default:
		return false
	}
	value, err := db.Get(key)
	if err != nil {
		return false
	}
	if value != token {
		c.peer.WriteInt(0)
		return true
	}
	if what == deleteIfMine {
		db.Del(key)
	} else {
		db.SetTTL(key, ttl)
	}
	c.dirty = append(c.dirty, key)
	c.peer.WriteInt(1)
	return true
}
