package simredis

import (
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
	READONLY READWRITE ROLE SCRIPT SELECT SUBSCRIBE UNSUBSCRIBE UNWATCH WAIT WATCH EVAL EVALSHA DBSIZE INFO KEYS FLUSHALL
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

// coveredOptions reports whether the options of a command are covered too. Locks often use wrong options of SET.
func coveredOptions(name string, args []string) bool {
	switch name {
	case "SET":
		for i := 2; i < len(args); i++ {
			switch strings.ToUpper(args[i]) {
			case "NX", "XX", "GET", "KEEPTTL":
			case "PX", "EX", "PXAT", "EXAT":
				i++
			default:
				return false
			}
		}
	case "INFO":
		return len(args) == 1 && strings.EqualFold(args[0], "replication")
	case "FLUSHALL":
		return len(args) == 0
	case "SELECT":
		return len(args) == 1 && args[0] == "0"
	case "COMMAND":
		return len(args) == 0 || strings.EqualFold(args[0], "count")
	case "SCRIPT":
		return len(args) > 0 && (strings.EqualFold(args[0], "load") || strings.EqualFold(args[0], "exists"))
	case "EVAL", "EVALSHA":
		if len(args) < 2 {
			return true // the server reports the error
		}
		_, err := strconv.Atoi(args[1])
		return err == nil
	}
	return true
}

// refusedBefore returns the error that a real server returns for some commands before it reads data. miniredis returns other
// errors.
func refusedBefore(name string, args []string) (text string, refused bool) {
	expires := func(value string) (string, bool) {
		n, err := strconv.ParseInt(value, 10, 64)
		return "ERR invalid expire time in '" + strings.ToLower(name) + "' command", err == nil && n <= 0
	}
	switch {
	case name == "SET" && len(args) > 2:
		nx, xx := false, false
		for i := 2; i < len(args); i++ {
			switch strings.ToUpper(args[i]) {
			case "NX":
				nx = true
			case "XX":
				xx = true
			case "PX", "EX", "PXAT", "EXAT":
				if i++; i < len(args) {
					if text, refused = expires(args[i]); refused {
						return text, true
					}
				}
			}
		}
		return syntaxError, nx && xx
	case (name == "MSET" || name == "MSETNX") && len(args)%2 != 0, (name == "LPOP" || name == "RPOP") && len(args) > 2:
		return fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name)), true
	case name == "ZPOPMIN" && len(args) > 2:
		return syntaxError, true
	case (name == "EXPIRE" || name == "PEXPIRE" || name == "PEXPIREAT") && len(args) > 2:
		for _, option := range args[2:] {
			if !slices.Contains([]string{"NX", "XX", "GT", "LT"}, strings.ToUpper(option)) {
				return "ERR Unsupported option " + option, true
			}
		}
	case (name == "SETEX" || name == "PSETEX") && len(args) == 3:
		return expires(args[1])
	}
	return "", false
}
