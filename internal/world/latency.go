package world

import "time"

// Latency is the latency of a message in virtual time: Base plus a random part of Spread.
type Latency struct {
	Base   time.Duration `json:"base"`
	Spread time.Duration `json:"spread"`
}

// DefaultLatency is the latency in a datacenter: a round trip takes slightly more than a
// millisecond.
var DefaultLatency = Latency{Base: 300 * time.Microsecond, Spread: 600 * time.Microsecond}
