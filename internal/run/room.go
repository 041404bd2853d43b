package run

import (
	"cmp"
	"math"

	"lockbench/internal/world"
	"lockbench/scenarios"
)

// Fits refuses what a world has no room for: more clients or servers than it can have.
// Its errors are wrong usage.
func (o Options) Fits(s *scenarios.Scenario, w world.World) error {
	room := roomOf(w)
	if o.Clients > room.Clients {
		return &scenarios.Error{File: "--clients", Text: room.TooManyClients(o.Clients)}
	}
	return s.Within(room)
}

func roomOf(w world.World) scenarios.Room {
	d := w.Describe()
	return scenarios.Room{
		World: w.Name(), WhyClients: d.Clients.Why, WhyServers: d.Servers.Why,
		Clients: cmp.Or(d.Clients.Max, math.MaxInt), Servers: cmp.Or(d.Servers.Max, math.MaxInt),
	}
}
