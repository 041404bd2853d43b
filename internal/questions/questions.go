// Package questions is the list of the ten questions that every lock is measured in.
package questions

// Question is about any lock, and a scenario answers it.
type Question struct {
	Text     string
	Scenario string
	// Outage means that the answer is also a time: the longest time in which clients tried and none got a lock.
	Outage bool
}

// All returns the questions, those without a fault first.
func All() []Question {
	return []Question{
		{Text: "without faults", Scenario: "steady"},
		{Text: "the server restarts with its data", Scenario: "crash-restart-durable"},
		{Text: "the server restarts without its data", Scenario: "crash-restart"},
		{Text: "failover, the last grants are not replicated", Scenario: "failover"},
		{Text: "failover under load", Scenario: "leader-kill"},
		{Text: "partition", Scenario: "partition-master"},
		{Text: "the client is stopped beyond its lease", Scenario: "pause-client"},
		{Text: "the holder is cut off while its library renews", Scenario: "cut-off-holder"},
		{Text: "replies are lost", Scenario: "lost-replies"},
		{Text: "a client dies", Scenario: "kill-holder", Outage: true},
	}
}
