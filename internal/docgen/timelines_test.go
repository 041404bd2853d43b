package main

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"lockbench/nemesis"
)

var barsOf = regexp.MustCompile(`<rect class="(?:fault|fault maybe|hold)" x="(\d+)" y="\d+" width="(\d+)"`)

// TestTimelines checks that the bars of each scenario are within its picture, and the times of two plans.
func TestTimelines(t *testing.T) {
	inTopFolder(t)
	all, err := timelines()
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string][]nemesis.Range{}
	for _, plan := range all {
		bars := barsOf.FindAllStringSubmatch(string(plan.svg()), -1)
		if len(bars) < len(plan.bars) {
			t.Errorf("%s has %d bars for %d steps", plan.scenario, len(bars), len(plan.bars))
		}
		for _, b := range bars {
			x, _ := strconv.Atoi(b[1])
			width, _ := strconv.Atoi(b[2])
			if x < margin || x+width > timelineWidth-margin+3 {
				t.Errorf("%s has a bar from %d to %d in a picture of %d", plan.scenario, x, x+width, timelineWidth)
			}
		}
		for _, b := range plan.bars {
			starts[plan.scenario] = append(starts[plan.scenario], b.starts)
		}
	}
	const half = 500 * time.Millisecond
	for i, got := range starts["flapping"] {
		if at := time.Duration(i) * 4 * time.Second; got != (nemesis.Range{From: at, To: at + half}) {
			t.Errorf("cut %d of flapping starts at %s", i+1, got)
		}
	}
	if of := starts["failover"]; len(of) != 2 || of[0].From >= of[1].From {
		t.Errorf("the steps of failover start at %v: the kill waits for a grant after the lag", of)
	}
}
