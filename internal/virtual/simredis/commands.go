package simredis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// command describes a command of the server to the simulation. Its name, arity, flags and keys are those of a real server.
type command struct {
	*entryOfTable
	write  bool
	blocks bool // may wait for other clients, so it runs without the lock of the process

	// check returns the error that a real server returns for the arguments before it reads data; miniredis returns other
	// errors. ok is false if one of the options is not covered. nil: the number of arguments was checked, and that is all.
	check func(name string, args []string) (text string, ok bool)
	// answer executes a command that miniredis lacks or answers differently from a real server. nil: miniredis executes it.
	answer func(c *call)
	// changed returns the keys that the command has changed, in the order in which a server reports them. nil: all its
	// keys, unless it answered nothing.
	changed func(w written) []string
	deletes bool // it deletes the keys that it changes
	// unordered: the simulation does not know the position of the command among the reads and writes of a transaction, or
	// its connection.
	unordered bool
}

// likeServer are the covered commands that miniredis executes like a real server, whatever their arguments.
const likeServer = `DISCARD ECHO EXEC MULTI PING PUBLISH TIME UNWATCH WAIT WATCH DBSIZE KEYS
	EXISTS GET MGET PTTL TYPE HEXISTS HGET HGETALL HKEYS HLEN LINDEX LLEN LRANGE SCARD SISMEMBER SMEMBERS STRLEN
	GETRANGE ZCARD ZRANGE ZRANGEBYSCORE ZRANK ZSCORE PERSIST HDEL HMSET HSETNX LPUSH LREM RPUSH SETNX
	BLPOP BRPOP SADD SREM ZREM ZREMRANGEBYSCORE`

// otherwise are the covered commands of which there is more to say.
var otherwise = map[string]command{
	"HELLO":     {answer: answerGreeting},
	"CLIENT":    {answer: answerGreeting},
	"CLUSTER":   {answer: noCluster},
	"ASKING":    {answer: noCluster},
	"READONLY":  {answer: noCluster},
	"READWRITE": {answer: noCluster},
	"ROLE":      {answer: func(c *call) { c.peer.WriteRaw(c.node.role.answer()) }},
	"INFO":      {check: checkInfo, answer: func(c *call) { c.peer.WriteBulk(c.node.role.info()) }},
	"COMMAND":   {check: checkListing, answer: answerListing},
	"TTL":       {answer: answerTTL},

	"SUBSCRIBE":    {unordered: true},
	"PSUBSCRIBE":   {unordered: true},
	"UNSUBSCRIBE":  {unordered: true},
	"PUNSUBSCRIBE": {unordered: true},
	"EVAL":         {check: checkScript, unordered: true},
	"EVALSHA":      {check: checkScript, unordered: true},
	"SCRIPT":       {check: checkScripts},
	"SELECT":       {check: func(_ string, args []string) (string, bool) { return "", args[0] == "0" }},
	"FLUSHALL":     {check: func(_ string, args []string) (string, bool) { return "", len(args) == 0 }},

	"SET":       {check: checkSet, changed: setKey},
	"SETEX":     {check: checkExpiry},
	"PSETEX":    {check: checkExpiry},
	"EXPIRE":    {check: checkCondition},
	"PEXPIRE":   {check: checkCondition},
	"PEXPIREAT": {check: checkCondition},
	"MSET":      {check: checkPairs},
	"MSETNX":    {check: checkPairs},
	"LPOP":      {check: atMost(2, wrongArguments)},
	"RPOP":      {check: atMost(2, wrongArguments)},
	"ZPOPMIN":   {check: atMost(2, wrongSyntax)},

	"DEL":       {changed: existing, deletes: true},
	"UNLINK":    {changed: existing, deletes: true},
	"GETDEL":    {deletes: true},
	"LTRIM":     {changed: existing},
	"RENAME":    {changed: renamed},
	"RPOPLPUSH": {changed: moved},
	"DECR":      {changed: allKeys},
	"DECRBY":    {changed: allKeys},
	"INCR":      {changed: allKeys},
	"INCRBY":    {changed: allKeys},
	"GETSET":    {changed: allKeys},
	"HINCRBY":   {changed: allKeys},
	"HSET":      {changed: allKeys},
	"ZADD":      {changed: allKeys},
	"ZINCRBY":   {changed: allKeys},
}

// covered returns the commands that locks may send, by their names. testdata/conformance.txt compares each of them with a
// real server. All other commands are refused: miniredis may lack a command or execute it differently, and a lock that
// silently took another path would prove nothing.
var covered = sync.OnceValue(func() map[string]command {
	all := map[string]command{}
	add := func(name string, c command) {
		c.entryOfTable = serverTable()[strings.ToLower(name)]
		c.write, c.blocks = c.is("write"), c.is("blocking") || name == "WAIT"
		all[name] = c
	}
	for name := range strings.FieldsSeq(likeServer) {
		add(name, command{})
	}
	for name, c := range otherwise {
		add(name, c)
	}
	return all
})

// checked returns a covered command and the error for its arguments. ok is false if the command or one of its options is
// not covered.
func checked(name string, args []string) (known command, text string, ok bool) {
	known, ok = covered()[name]
	if ok && known.check != nil {
		text, ok = known.check(name, args)
	}
	return known, text, ok
}

func checkInfo(_ string, args []string) (text string, ok bool) {
	return "", len(args) == 1 && strings.EqualFold(args[0], "replication")
}

func checkListing(_ string, args []string) (text string, ok bool) {
	return "", len(args) == 0 || strings.EqualFold(args[0], "count")
}

func checkScripts(_ string, args []string) (text string, ok bool) {
	return "", len(args) > 0 && (strings.EqualFold(args[0], "load") || strings.EqualFold(args[0], "exists"))
}

func checkScript(_ string, args []string) (text string, ok bool) {
	if len(args) < 2 {
		return "", true // the server reports the error
	}
	_, err := strconv.Atoi(args[1])
	return "", err == nil
}

// checkSet checks the options of SET. Locks often use wrong ones.
func checkSet(name string, args []string) (text string, ok bool) {
	nx, xx := false, false
	for i := 2; i < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "NX":
			nx = true
		case "XX":
			xx = true
		case "GET", "KEEPTTL":
		case "PX", "EX", "PXAT", "EXAT":
			if i++; i < len(args) {
				text = cmp.Or(text, invalidExpiry(name, args[i]))
			}
		default:
			return "", false
		}
	}
	if nx && xx {
		text = cmp.Or(text, syntaxError)
	}
	return text, true
}

func checkExpiry(name string, args []string) (text string, ok bool) {
	return invalidExpiry(name, args[1]), true
}

// invalidExpiry returns the error for a number that is not a valid remaining time.
func invalidExpiry(name, value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err != nil || n > 0 {
		return ""
	}
	return "ERR invalid expire time in '" + strings.ToLower(name) + "' command"
}

func checkCondition(_ string, args []string) (text string, ok bool) {
	for _, option := range args[2:] {
		if !slices.Contains([]string{"NX", "XX", "GT", "LT"}, strings.ToUpper(option)) {
			return "ERR Unsupported option " + option, true
		}
	}
	return "", true
}

func checkPairs(name string, args []string) (text string, ok bool) {
	if len(args)%2 != 0 {
		text = wrongArguments(name)
	}
	return text, true
}

// atMost returns a check for a command with at most so many arguments.
func atMost(words int, wrong func(name string) string) func(string, []string) (string, bool) {
	return func(name string, args []string) (text string, ok bool) {
		if len(args) > words {
			text = wrong(name)
		}
		return text, true
	}
}

func wrongArguments(name string) string {
	return fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name))
}

func wrongSyntax(string) string { return syntaxError }
