package locksim

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func drawn(seed uint64, m Mistake) Plan { return Draw(rand.New(rand.NewPCG(seed, 0)), m) }

// TestSameSeed checks that a seed always gives the same plan and the same history.
func TestSameSeed(t *testing.T) {
	for seed := range uint64(200) {
		m := append(Mistakes(), None)[seed%uint64(len(Mistakes())+1)]
		p, q := drawn(seed, m), drawn(seed, m)
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("seed %d gives two plans", seed)
		}
		if a, b := p.Run(), q.Run(); a != b {
			t.Fatalf("seed %d gives two histories:\n%s\n%s", seed, a.Text, b.Text)
		}
	}
}

// TestRightLocksDoNoWrong checks that correct locks never act wrongly, and that incorrect locks make their mistake in
// some histories.
func TestRightLocksDoNoWrong(t *testing.T) {
	for seed := range uint64(500) {
		if trace := drawn(seed, None).Run(); trace.Wrongs > 0 {
			t.Fatalf("seed %d: a right lock did wrong\n%s", seed, trace.Text)
		}
	}
	for _, m := range Mistakes() {
		made := 0
		for seed := range uint64(100) {
			if drawn(seed, m).Run().Wrongs > 0 {
				made++
			}
		}
		if made == 0 {
			t.Errorf("in 100 histories no lock %s", m)
		}
	}
}

// TestReach checks that the histories of correct locks contain all features, and are small enough for the features to
// occur together.
func TestReach(t *testing.T) {
	seen := map[string]int{}
	operations := 0
	const histories = 2000
	for seed := range uint64(histories) {
		text := drawn(seed, None).Run().Text
		operations += strings.Count(text, " ok") + strings.Count(text, " fail ") + strings.Count(text, " info ")
		for _, word := range []string{
			"info timeout", "not-held", "fail lost", "fail taken strict=true", "unsupported", "stale-token", " died", " lost session",
			"pause begins", "partition begins", "kill begins", "renew ttl", "renewed=true", "until=", "mode=shared", "owner=",
			"keys=a,b", "wait=", "probe queued", "probe key", "quiet=begins", "token=", "write resource=fenced", "write resource=plain",
		} {
			if strings.Contains(text, word) {
				seen[word]++
			} else {
				seen[word] += 0
			}
		}
	}
	for word, n := range seen {
		if n < 5 {
			t.Errorf("only %d of %d histories have %q", n, histories, word)
		}
	}
	if mean := operations / histories; mean < 5 || mean > 60 {
		t.Errorf("a history has %d operations", mean)
	}
}

// TestShrink checks that a shrunk plan contains only the cause of its failure.
func TestShrink(t *testing.T) {
	fails := func(p Plan) bool { return strings.Contains(p.Run().Text, "info timeout") }
	for seed := range uint64(30) {
		p := drawn(seed, None)
		if !fails(p) {
			continue
		}
		small := Shrink(p, fails, 2000)
		steps := 0
		for _, s := range small.Clients {
			steps += len(s)
		}
		if !fails(small) || steps > 2 {
			t.Errorf("seed %d: %d steps are left\n%s", seed, steps, small.Run().Text)
		}
	}
}

// TestServer checks at each step that a correct lock keeps its promises.
func TestServer(t *testing.T) {
	for seed := range uint64(300) {
		p := drawn(seed, None)
		x := p.start()
		for i := 0; i < 3000; i++ {
			x.clock.at(time.Duration(i)*50*time.Millisecond, func() {
				if broken := x.server.broken(); broken != "" {
					t.Fatalf("seed %d at %s: %s", seed, x.clock.now, broken)
				}
			})
		}
		x.clock.run(horizon)
	}
}

// broken names sessions that hold together and must not.
func (v *server) broken() string {
	for _, key := range []string{"a", "b"} {
		for i, h := range v.holds {
			if v.over(h) || !slices.Contains(h.s.keys, key) {
				continue
			}
			for _, o := range v.holds[:i] {
				if !v.over(o) && slices.Contains(o.s.keys, key) && o.s.owner != h.s.owner && !(o.s.shared && h.s.shared) {
					return fmt.Sprintf("%s and %s hold %s", o.s.name, h.s.name, key)
				}
			}
		}
	}
	return ""
}
