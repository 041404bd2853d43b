package simredis

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// TIME answers with the clock of the server, which a clock fault changes, and a script gets the same answer.
func TestTimeIsOfTheServersClock(t *testing.T) {
	in(t, redistest.Spec(locks.Single, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		n := c.servers.data[0]
		w := talk(t, c, 1).to(n.addr)
		for _, by := range []time.Duration{0, time.Minute, -time.Hour, 0} {
			n.ShiftClock(by, 0)
			for _, command := range []string{"TIME", "EVAL return(redis.call('TIME')) 0"} {
				begun := n.clock.Now()
				got := clockOf(t, w.say(command))
				// The answer has whole microseconds.
				if got.Before(begun.Truncate(time.Microsecond)) || got.After(n.clock.Now()) {
					t.Errorf("%s with a clock that is off by %v: got %v, want %v to %v", command, by, got, begun, n.clock.Now())
				}
			}
		}
	})
}

// clockOf parses an answer to TIME.
func clockOf(t *testing.T, answer string) time.Time {
	t.Helper()
	words := strings.Split(strings.Trim(answer, "[]"), ", ")
	if len(words) != 2 {
		t.Errorf("the answer to TIME is %q", answer)
		return time.Time{}
	}
	var numbers [2]int64
	for i, word := range words {
		var err error
		if numbers[i], err = strconv.ParseInt(strings.Trim(word, `"`), 10, 64); err != nil {
			t.Error(err)
		}
	}
	return time.Unix(numbers[0], 1000*numbers[1])
}
