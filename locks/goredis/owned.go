package goredis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// An owned key holds the token of the attempt that set it, so that no other attempt can delete or extend it. Each of the three
// steps is atomic on the server:
//
//	Claim    SET key token NX PX ttl
//	Extend   if GET key = token then PEXPIRE key ttl
//	Disown   if GET key = token then DEL key
//
// Extend and Disown are scripts, because between a GET and a DEL the key could expire and be set by another attempt.
var (
	//go:embed *.lua
	scripts embed.FS

	extendScript = ReadScript(scripts, "extend.lua")
	disownScript = ReadScript(scripts, "disown.lua")
)

// Claim sets the key to the token, with an expiry after ttl, if the key is free. It returns false only if the server refused;
// after an error the outcome is unknown.
func Claim(ctx context.Context, c Client, key, token string, ttl time.Duration) (bool, error) {
	err := Do(ctx, c, "set", key, token, "nx", "px", ttl.Milliseconds()).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("set %s nx: %w", key, err)
	}
	return true, nil
}

// Extend sets the expiry of the key to ttl from now if the key holds the token. It returns false only if the server refused;
// after an error the outcome is unknown.
func Extend(ctx context.Context, c Client, key, token string, ttl time.Duration) (bool, error) {
	n, err := extendScript.Run(ctx, c, []string{key}, token, ttl.Milliseconds())
	return n == 1, err
}

// Disown deletes the key if it holds the token. It returns false only if the server refused; after an error the outcome is
// unknown.
func Disown(ctx context.Context, c Client, key, token string) (bool, error) {
	n, err := disownScript.Run(ctx, c, []string{key}, token)
	return n == 1, err
}
