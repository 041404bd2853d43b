package simredis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// command describes a command of the server to the simulation.
type command struct {
	*entryOfTable
	write  bool
	blocks bool // may wait for other clients, so it runs without the node's lock
}

// coveredNames are the commands that locks may send. testdata/conformance.txt compares each of them with a real server.
// All other commands are refused: miniredis may lack a command or execute it differently, and a lock that silently took
// another path would prove nothing.
const coveredNames = `ASKING CLIENT CLUSTER COMMAND DISCARD ECHO EXEC HELLO MULTI PING PUBLISH PSUBSCRIBE PUNSUBSCRIBE
	READONLY READWRITE ROLE SCRIPT SELECT SUBSCRIBE TIME UNSUBSCRIBE UNWATCH WAIT WATCH EVAL EVALSHA DBSIZE INFO KEYS FLUSHALL
	EXISTS GET MGET PTTL TTL TYPE HEXISTS HGET HGETALL HKEYS HLEN LINDEX LLEN LRANGE SCARD SISMEMBER SMEMBERS STRLEN
	GETRANGE ZCARD ZRANGE ZRANGEBYSCORE ZRANK ZSCORE DECR DECRBY EXPIRE GETDEL GETSET INCR INCRBY PERSIST PEXPIRE PEXPIREAT
	PSETEX SET SETEX SETNX DEL UNLINK RENAME MSET MSETNX HDEL HINCRBY HMSET HSET HSETNX LPOP LPUSH LREM LTRIM RPOP RPUSH
	RPOPLPUSH BLPOP BRPOP SADD SREM ZADD ZINCRBY ZPOPMIN ZREM ZREMRANGEBYSCORE`

// covered returns these commands with what the table says about them.
var covered = sync.OnceValue(func() map[string]command {
	all := map[string]command{}
	for name := range strings.FieldsSeq(coveredNames) {
		e := serverTable()[strings.ToLower(name)]
		all[name] = command{e, e.is("write"), e.is("blocking") || name == "WAIT"}
	}
	return all
})

// check returns a command with the error that a real server returns for its arguments before it reads data; miniredis
// returns other errors. ok is false if the command or one of its options is not covered. Locks often use wrong options of SET.
func check(name string, args []string) (known command, text string, ok bool) {
	known, ok = covered()[name]
	if !ok {
		return known, "", false
	}
	expires := func(value string) string {
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || n > 0 {
			return ""
		}
		return "ERR invalid expire time in '" + strings.ToLower(name) + "' command"
	}
	switch name {
	case "SET":
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
					text = cmp.Or(text, expires(args[i]))
				}
			default:
				return known, "", false
			}
		}
		if nx && xx {
			text = cmp.Or(text, syntaxError)
		}
	case "INFO":
		ok = len(args) == 1 && strings.EqualFold(args[0], "replication")
	case "FLUSHALL":
		ok = len(args) == 0
	case "SELECT":
		ok = len(args) == 1 && args[0] == "0"
	case "COMMAND":
		ok = len(args) == 0 || strings.EqualFold(args[0], "count")
	case "SCRIPT":
		ok = len(args) > 0 && (strings.EqualFold(args[0], "load") || strings.EqualFold(args[0], "exists"))
	case "EVAL", "EVALSHA":
		if len(args) > 1 { // otherwise the server reports the error
			_, err := strconv.Atoi(args[1])
			ok = err == nil
		}
	case "MSET", "MSETNX", "LPOP", "RPOP":
		if pops := strings.HasSuffix(name, "POP"); pops && len(args) > 2 || !pops && len(args)%2 != 0 {
			text = fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name))
		}
	case "ZPOPMIN":
		if len(args) > 2 {
			text = syntaxError
		}
	case "EXPIRE", "PEXPIRE", "PEXPIREAT":
		for _, option := range args[2:] {
			if !slices.Contains([]string{"NX", "XX", "GT", "LT"}, strings.ToUpper(option)) {
				return known, "ERR Unsupported option " + option, true
			}
		}
	case "SETEX", "PSETEX":
		text = expires(args[1])
	}
	return known, text, ok
}
