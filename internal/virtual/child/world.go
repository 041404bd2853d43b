package child

import (
	services "lockbench/internal/service/catalog"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/virtual/wasm"
	"lockbench/internal/world"
	"lockbench/locks"
)

// NewWorld returns the world in virtual time. Its trials run in processes that command starts, or in this one if it is nil.
// open returns the opener of a lock by name and options.
func NewWorld(open func(string, map[string]string) (locks.Opener, error), command []string) world.World {
	return simulation(sim.Options{Open: open, Enclosure: command})
}

// simulation returns the simulation with the models of all services.
func simulation(o sim.Options) *sim.World {
	o.Models, o.ModuleCache = services.Models(), wasm.CacheDir()
	return sim.New(o)
}
