package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/trial"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// point is a moment of one client at which a fault can start.
type point struct {
	Client int             `json:"client"`
	Event  workloads.Event `json:"event"`
	Nth    int             `json:"nth"`
}

// fault is an entry of the catalog: a step without its trigger.
type fault struct {
	Text string `json:"text"` // with NODE for each server
	// Request reports that the fault starts when a request of the client has been carried out.
	Request bool `json:"request,omitempty"`
	// Renewal reports that the first request after a check renews the lease.
	Renewal bool `json:"renewal,omitempty"`
}

// faults returns the catalog. Long is longer than a lease, and short is a few round trips.
func faults(long time.Duration) []fault {
	const short = 5 * time.Millisecond
	lasts := func(d time.Duration) string { return ", for: " + d.String() }
	return []fault{
		{Text: "pause: holder" + lasts(long)},
		{Text: "pause: holder" + lasts(short)},
		{Text: "kill: holder"},
		{Text: "clock: holder, by: " + long.String() + lasts(long)},
		{Text: "clock: holder, by: -" + long.String() + lasts(long)},
		{Text: "kill: NODE" + lasts(50*time.Millisecond)},
		{Text: "kill: NODE, data: lost, early: true" + lasts(50*time.Millisecond)},
		{Text: "pause: NODE" + lasts(long)},
		{Text: "clock: NODE, by: " + long.String() + lasts(long)},
		{Text: "clock: NODE, by: -" + long.String() + lasts(long)},
		{Text: "promote: a replica"},
		{Text: "cut: holder <-> NODE" + lasts(long)},
		{Text: "drop-replies: NODE -> holder" + lasts(long)},
		{Text: "lose-reply: holder", Request: true},
		{Text: "hold-request: holder" + lasts(long), Request: true},
		{Text: "pause: holder" + lasts(long), Request: true},
		{Text: "kill: holder", Request: true},
	}
}

// at returns the text of a step of a scenario.
func (f fault) at(p point, request int) string {
	text := f.Text
	if p.Event == workloads.Waiting {
		text = strings.ReplaceAll(text, "holder", "a waiter")
	}
	text += fmt.Sprintf(", when: %s, client: client-%d, nth: %d", p.Event, p.Client, p.Nth)
	if request > 0 {
		text += fmt.Sprintf(", request: %d", request)
	}
	return text
}

// on reports whether the fault can start at an event.
func (f fault) on(e workloads.Event) bool {
	return !f.Request || e == workloads.Acquiring || e == workloads.Releasing || e == workloads.Checked && f.Renewal
}

// begins reports whether a fault begins with one of some texts.
func begins(fault string, with []string) bool {
	return slices.ContainsFunc(with, func(word string) bool { return strings.HasPrefix(fault, word) })
}

// applicable returns the catalog for the lock's servers, with one fault for each server, and why others do not apply.
func (x Sets) applicable(ctx context.Context) (all []fault, not []string, err error) {
	in := x.input(x.Job.Scenario)
	sub, err := trial.NewSubject(in, x.Job.Options.Opener)
	if err == nil {
		err = sub.Introduce(ctx, x.Job.World)
	}
	if err != nil {
		return nil, nil, err
	}
	sketch := x.Job.World.Sketch(sub.Spec)
	var nodes []string
	if sketch.Group != nil {
		for _, n := range sketch.Nodes() {
			if n.Role == service.Data {
				nodes = append(nodes, n.Name)
			}
		}
	}
	const longest = 6 * time.Second // of the leases that locks give themselves and do not report
	for _, f := range faults(cmp.Or(sub.Lease(), longest) * 3 / 2) {
		if len(x.only) > 0 && !begins(f.Text, x.only) {
			continue
		}
		texts := []string{f.Text}
		if strings.Contains(f.Text, "NODE") {
			texts = nil
			for _, n := range nodes {
				texts = append(texts, strings.ReplaceAll(f.Text, "NODE", n))
			}
		}
		for _, text := range texts {
			if begins(text, x.Without) {
				not = append(not, text+": left out")
				continue
			}
			one := fault{Text: text, Request: f.Request, Renewal: f.Request && in.Workload.Name == "renewals"}
			event, request := workloads.Acquired, 0
			if f.Request {
				event, request = workloads.Acquiring, 1
			}
			s, err := x.Job.Scenario.WithFaults([]string{one.at(point{Event: event, Nth: 1}, request)})
			if err != nil {
				return nil, nil, err
			}
			plan, err := nemesis.Draw(1, 1, s.Faults)
			if err != nil {
				return nil, nil, err
			}
			if why := plan.For(sketch)[0].NA; why != "" {
				not = append(not, text+": "+why)
			} else {
				all = append(all, one)
			}
		}
	}
	return all, not, nil
}
