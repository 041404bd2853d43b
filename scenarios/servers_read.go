package scenarios

import (
	"slices"
	"strings"

	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/locks"
)

// servers reads the servers of services: `{redis: {topology: sentinel, settings: {...}}}`.
func (r *reader) servers(s *Scenario, e pair) {
	r.each(r.pairs(e.value, e.path, "servers"), func(e pair) {
		of, ok := services.Find(e.key.text)
		if !ok {
			r.unknown(e.key, names(services.All(), serviceName), "no service is named %q", e.key.text)
		}
		if _, twice := s.Servers[of.Name]; twice {
			r.fail(e.key.at, "keep one of them", "`servers` and a separate key both configure %s", of.Name)
		}
		one := serverReader{reader: r, of: of, on: s.On(of.Name)}
		r.each(r.pairs(e.value, e.path, e.key.text), func(e pair) {
			switch e.key.text {
			case "topology":
				one.topology(e)
			case "settings":
				one.settings(e)
			default:
				r.unknown(e.key, keysOf(&one.on), "servers have no key %q", e.key.text)
			}
		})
		s.Servers[of.Name] = one.on
	})
}

// serverReader reads the servers of one service.
type serverReader struct {
	*reader
	of *service.Service
	on Servers
}

// topology reads the topology of a service: one word, or one for each family.
func (r *serverReader) topology(e pair) {
	if isMap(e.value) {
		r.families(e)
		return
	}
	w := r.text(e)
	found, known := service.Find(r.of, locks.Topology(w.text))
	switch {
	case !known:
		r.unknown(w, names(r.of.Topologies, topologyName), "%s has no topology %q", r.of.Name, w.text)
	case found.Leads == service.EachLeads:
		r.on.Topology.Majority = found.Name
	default:
		r.on.Topology.SingleStore = found.Name
	}
}

// families reads the servers of each family: `{single-store: sentinel, majority: {independent: 3}}`.
func (r *serverReader) families(e pair) {
	r.each(r.pairs(e.value, e.path, "topology"), func(e pair) {
		switch locks.Family(e.key.text) {
		case locks.SingleStore:
			r.on.Topology.SingleStore = scalar(r.reader, e, oneOf(singleStores(r.of), "a single store has no topology %q"))
		case locks.Majority:
			r.majority(e)
		default:
			r.unknown(e.key, []string{string(locks.SingleStore), string(locks.Majority)}, "no family of locks is named %q", e.key.text)
		}
	})
}

// singleStores returns the topologies of a service for locks on a single store.
func singleStores(of *service.Service) []locks.Topology {
	var stores []locks.Topology
	for _, t := range of.Topologies {
		if t.Leads != service.EachLeads {
			stores = append(stores, t.Name)
		}
	}
	return stores
}

// majority reads `independent` or `{independent: 3}`.
func (r *serverReader) majority(e pair) {
	known := []locks.Topology{locks.Independent}
	if !isMap(e.value) {
		r.on.Topology.Majority = scalar(r.reader, e, oneOf(known, "a majority lock has no topology %q"))
		return
	}
	r.each(r.pairs(e.value, e.path, "majority"), func(e pair) {
		if locks.Topology(e.key.text) != locks.Independent {
			r.unknown(e.key, names(known, plain), "a majority lock has no topology %q", e.key.text)
		}
		r.on.Topology.Masters = scalar(r.reader, e, parseCount)
	})
}

// settings reads the settings of a service's servers. Unknown settings and values would make a server exit at its start,
// which would be noticed late.
func (r *serverReader) settings(e pair) {
	r.on.Settings = map[string]string{}
	all := r.of.Settings
	r.each(r.pairs(e.value, e.path, e.key.text), func(e pair) {
		s, known := find(all, settingName, e.key.text)
		switch {
		case len(all) > 0 && !known:
			r.unknown(e.key, names(freeSettings(r.of), settingName), "%s has no setting %q", r.of.Name, e.key.text)
		case s.Decided != "":
			r.fail(e.key.at, "leave it out", "a scenario cannot set %s: %s", e.key.text, s.Decided)
		default:
			r.setting(s, r.option(e, &r.on.Settings))
		}
	})
}

// setting checks the value of a setting.
func (r *serverReader) setting(s service.Setting, value word) {
	switch {
	case s.Accepts(value.text):
	case s.Values[0] == service.Number:
		r.fail(value.at, "write a whole number", "%s cannot be %q", s.Name, value.text)
	default:
		r.fail(value.at, "its values are "+strings.Join(s.Values, ", "), "%s cannot be %q", s.Name, value.text)
	}
}

// freeSettings returns the settings of a service that a scenario may change.
func freeSettings(of *service.Service) []service.Setting {
	return slices.DeleteFunc(slices.Clone(of.Settings), func(s service.Setting) bool { return s.Decided != "" })
}

func settingName(s service.Setting) string { return s.Name }
