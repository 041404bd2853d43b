package simredis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// The two shortcuts give the same answers and the same data as Lua, for random keys of all kinds.
func TestShortcut(t *testing.T) {
	var scripts []string
	for _, name := range []string{"disown", "extend"} {
		text, err := os.ReadFile(filepath.Join("../../../locks/goredis", name+".lua"))
		if err != nil {
			t.Fatal(err)
		}
		if shortcutOf(string(text)) == noShortcut {
			t.Errorf("%s.lua is not recognised, and will be slow here", name)
		}
		scripts = append(scripts, string(text))
	}
	in(t, redistest.Spec(locks.Single, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		n, k := c.servers.data[0], talk(t, c, 1)
		w := k.to(n.addr)
		rng := rand.New(rand.NewPCG(1, 1))
		taken := 0
		for i := range 2000 {
			script := scripts[rng.IntN(len(scripts))]
			key := fmt.Sprintf("k%d", rng.IntN(3))
			setup := []string{"DEL " + key, "SET " + key + " mine", "SET " + key + " mine PX 5000", "SET " + key + " theirs PX 5000",
				"HSET " + key + " f 1", ""}[rng.IntN(6)]
			arg := []string{"1000", "0", "-1", "x", "99999999999999999", "700"}[rng.IntN(6)]
			token := []string{"mine", "theirs"}[rng.IntN(2)]
			var seen [2]string
			for way := range 2 {
				w.say("DEL " + key)
				if setup != "" {
					w.say(setup)
				}
				// Send the text first, with another key, so that the server knows the script.
				text := script
				if way == 1 {
					text = "--[[ the long way ]] local _ = 0\n" + script
				}
				load, sha := proto.Strings("SCRIPT", "LOAD", text), digest(text)
				if i%2 == 1 {
					load = proto.Strings("EVAL", text, "1", key, token, arg)
				}
				if _, err := w.Write([]byte(load)); err != nil {
					t.Error(err)
					return
				}
				answer := w.hear()
				if i%4 != 1 { // else the text was executed, and the digest is not needed
					answer = w.say(fmt.Sprintf("EVALSHA %s 1 %s %s %s", sha, key, token, arg))
				}
				answer, _, _ = strings.Cut(answer, " script: ") // the rest has the digest, which differs
				n.during(func(p *process) {
					if way == 0 && p.scripts[sha] != noShortcut {
						taken++
					}
				})
				seen[way] = strings.Join([]string{answer, w.say("TYPE " + key), w.say("PTTL " + key)[:2], w.say("EXISTS " + key)}, " ")
			}
			if seen[0] != seen[1] {
				t.Errorf("%d: after %q, token %s, argument %s: %q without Lua, %q with it", i, setup, token, arg, seen[0], seen[1])
			}
		}
		if taken < 1000 {
			t.Errorf("the short way was taken %d times of 2000", taken)
		}
	})
	for text, want := range map[string]shortcut{
		`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`:     deleteIfMine,
		`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[2]) else return 0 end`:     noShortcut,
		`if redis.call("get",KEYS[1]) ~= ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`:     noShortcut,
		`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1]) else return 0 end`: noShortcut,
	} {
		if got := shortcutOf(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
