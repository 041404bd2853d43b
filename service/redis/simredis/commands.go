package simredis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// command describes a command of the server to the simulation.
type command struct {
	write bool
	// first, last and step are the positions of its keys, from 1. 0 means no keys, and a negative last counts from
	// the end.
	first, last, step int
	blocks            bool // may wait for other clients, so it runs without the node's lock
}

// covered are the commands that locks may send. testdata/conformance.txt compares each of them with a real server. All
// other commands are refused: miniredis may lack a command or execute it differently, and a lock that silently took
// another path would prove nothing.
var covered = map[string]command{
	"ASKING": {}, "CLIENT": {}, "CLUSTER": {}, "COMMAND": {}, "DISCARD": {}, "ECHO": {}, "EXEC": {}, "HELLO": {}, "MULTI": {},
	"PING": {}, "PUBLISH": {}, "PSUBSCRIBE": {}, "PUNSUBSCRIBE": {}, "READONLY": {}, "READWRITE": {}, "ROLE": {}, "SCRIPT": {}, "SELECT": {},
	"SUBSCRIBE": {}, "UNSUBSCRIBE": {}, "UNWATCH": {}, "WAIT": {blocks: true}, "WATCH": {first: 1, last: -1, step: 1},
	"EVAL": {}, "EVALSHA": {},
	"DBSIZE": {}, "INFO": {}, "KEYS": {}, "FLUSHALL": {write: true},

	"EXISTS": {first: 1, last: -1, step: 1}, "GET": {first: 1, last: 1, step: 1}, "MGET": {first: 1, last: -1, step: 1},
	"PTTL": {first: 1, last: 1, step: 1}, "TTL": {first: 1, last: 1, step: 1}, "TYPE": {first: 1, last: 1, step: 1},
	"HEXISTS": {first: 1, last: 1, step: 1}, "HGET": {first: 1, last: 1, step: 1}, "HGETALL": {first: 1, last: 1, step: 1},
	"HKEYS": {first: 1, last: 1, step: 1}, "HLEN": {first: 1, last: 1, step: 1},
	"LINDEX": {first: 1, last: 1, step: 1}, "LLEN": {first: 1, last: 1, step: 1}, "LRANGE": {first: 1, last: 1, step: 1},
	"SCARD": {first: 1, last: 1, step: 1}, "SISMEMBER": {first: 1, last: 1, step: 1}, "SMEMBERS": {first: 1, last: 1, step: 1},
	"STRLEN": {first: 1, last: 1, step: 1}, "GETRANGE": {first: 1, last: 1, step: 1}, "ZCARD": {first: 1, last: 1, step: 1}, "ZRANGE": {first: 1, last: 1, step: 1},
	"ZRANGEBYSCORE": {first: 1, last: 1, step: 1}, "ZRANK": {first: 1, last: 1, step: 1}, "ZSCORE": {first: 1, last: 1, step: 1},

	"DECR": writes1, "DECRBY": writes1, "EXPIRE": writes1, "GETDEL": writes1, "GETSET": writes1, "INCR": writes1, "INCRBY": writes1,
	"PERSIST": writes1, "PEXPIRE": writes1, "PEXPIREAT": writes1, "PSETEX": writes1, "SET": writes1, "SETEX": writes1, "SETNX": writes1,
	"DEL": writesAll, "UNLINK": writesAll, "RENAME": {write: true, first: 1, last: 2, step: 1},
	"MSET": {write: true, first: 1, last: -1, step: 2}, "MSETNX": {write: true, first: 1, last: -1, step: 2},
	"HDEL": writes1, "HINCRBY": writes1, "HMSET": writes1, "HSET": writes1, "HSETNX": writes1,
	"LPOP": writes1, "LPUSH": writes1, "LREM": writes1, "LTRIM": writes1, "RPOP": writes1, "RPUSH": writes1,
	"RPOPLPUSH": {write: true, first: 1, last: 2, step: 1},
	"BLPOP":     {write: true, first: 1, last: -2, step: 1, blocks: true}, "BRPOP": {write: true, first: 1, last: -2, step: 1, blocks: true},
	"SADD": writes1, "SREM": writes1, "ZADD": writes1, "ZINCRBY": writes1, "ZPOPMIN": writes1, "ZREM": writes1,
	"ZREMRANGEBYSCORE": writes1,
}

var (
	writes1   = command{write: true, first: 1, last: 1, step: 1}
	writesAll = command{write: true, first: 1, last: -1, step: 1}
)

// keys returns the keys among the arguments of a command.
func (c command) keys(args []string) []string {
	if c.first == 0 {
		return nil
	}
	last := c.last
	if last < 0 {
		last += len(args) + 1
	}
	var keys []string
	for i := c.first; i <= last && i <= len(args); i += c.step {
		keys = append(keys, args[i-1])
	}
	return keys
}

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
