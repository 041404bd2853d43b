package run

import (
	"cmp"
	"math"

	"lockbench/internal/world"
	"lockbench/scenarios"
)

// Fits returns an error if the scenario needs more clients or servers than the world can run. The error means wrong usage.
func (o Options) Fits(s *scenarios.Scenario, w world.World) error {
	capacity := capacityOf(w)
	if o.Clients > capacity.Clients {
		return &scenarios.Error{File: "--clients", Text: capacity.TooManyClients(o.Clients)}
	}
	return s.Within(capacity)
}

func capacityOf(w world.World) scenarios.Capacity {
	d := w.Describe()
	return scenarios.Capacity{
		World: w.Name(), WhyClients: d.Clients.Why, WhyServers: d.Servers.Why,
		Clients: cmp.Or(d.Clients.Max, math.MaxInt), Servers: cmp.Or(d.Servers.Max, math.MaxInt),
	}
}
