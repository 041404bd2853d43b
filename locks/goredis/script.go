package goredis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Script is a Lua script that answers with a whole number.
type Script struct {
	name   string
	script *redis.Script
}

// NewScript makes a script of the text of a .lua file; the name is for errors.
func NewScript(name, lua string) *Script {
	return &Script{name: name, script: redis.NewScript(lua)}
}

// Run runs the script by its digest, and by its text if the server has not seen it
// yet. That second request is no resending: the reply NOSCRIPT says that the first
// one did nothing. Any other failure is handed up, for the script may have run.
func (s *Script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) (int64, error) {
	n, err := s.script.EvalSha(ctx, c, keys, args...).Int64()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		n, err = s.script.Eval(ctx, c, keys, args...).Int64()
	}
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", s.name, err)
	}
	return n, nil
}
