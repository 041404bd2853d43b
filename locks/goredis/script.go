package goredis

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Script is a Lua script.
type Script struct {
	name string
	text string
	sha  string
}

// NewScript returns the script with the text of a .lua file. The name is for errors.
func NewScript(name, lua string) *Script {
	return &Script{name: name, text: lua, sha: redis.NewScript(lua).Hash()}
}

// ReadScript returns the script in a .lua file of a package. It panics if there is no such file.
func ReadScript(files embed.FS, name string) *Script {
	lua, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return NewScript(name, string(lua))
}

// Changed returns the script with its text replaced by the result of change.
func (s *Script) Changed(change func(name, lua string) string) *Script {
	text := change(s.name, s.text)
	if text == s.text {
		return s
	}
	return NewScript(s.name, text)
}

// Run runs a script that returns an integer.
func (s *Script) Run(ctx context.Context, c Client, keys []string, args ...any) (int64, error) {
	n, err := s.do(ctx, c, keys, args...).Int64()
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", s.name, err)
	}
	return n, nil
}

// RunOrNil runs a script that returns an integer or nil; ok is false for nil.
func (s *Script) RunOrNil(ctx context.Context, c Client, keys []string, args ...any) (n int64, ok bool, err error) {
	return s.orNil(s.do(ctx, c, keys, args...))
}

// orNil reads a reply that is an integer or nil.
func (s *Script) orNil(reply *redis.Cmd) (n int64, ok bool, err error) {
	n, err = reply.Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("run %s: %w", s.name, err)
	}
	return n, true, nil
}

// RunList runs a script that returns a list of integers.
func (s *Script) RunList(ctx context.Context, c Client, keys []string, args ...any) ([]int64, error) {
	list, err := s.do(ctx, c, keys, args...).Int64Slice()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", s.name, err)
	}
	return list, nil
}

// do runs the script by its digest, and by its text if the server does not know the digest. The second request is safe,
// because the reply NOSCRIPT shows that the first one did nothing. After any other error the script may have run.
func (s *Script) do(ctx context.Context, c Client, keys []string, args ...any) *redis.Cmd {
	cmd := Do(ctx, c, s.bySHA(keys, args)...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = Do(ctx, c, s.byText(keys, args)...)
	}
	return cmd
}

func (s *Script) bySHA(keys []string, args []any) []any {
	return call("evalsha", s.sha, keys, args)
}

func (s *Script) byText(keys []string, args []any) []any {
	return call("eval", s.text, keys, args)
}

func call(command, script string, keys []string, args []any) []any {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, command, script, len(keys))
	for _, k := range keys {
		words = append(words, k)
	}
	return append(words, args...)
}
