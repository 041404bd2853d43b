package proxy

import (
	"fmt"
	"maps"
	"testing"
)

func TestCounterIsBounded(t *testing.T) {
	var c Requests
	for i := range 10 * commandsMax {
		c.count(fmt.Appendf(nil, "C%d", i))
	}
	c.count([]byte("\x00\xff"))
	c.count([]byte("C1"))
	if len(c.counts) > commandsMax+1 {
		t.Errorf("%d names are remembered", len(c.counts))
	}
	total := 0
	for n := range maps.Values(c.counts) {
		total += n
	}
	if total != 10*commandsMax+2 || c.counts["C1"] != 2 {
		t.Errorf("%d counted, C1 %d times", total, c.counts["C1"])
	}
}
