package guest

import (
	"lockbench/internal/service/redis"
	"lockbench/locks"
)

// StoreAddresses is the form of locks.Store in messages.
type StoreAddresses struct {
	Topology  locks.Topology          `json:"topology"`
	Service   string                  `json:"service,omitempty"`
	Endpoints map[string][]locks.Node `json:"endpoints,omitempty"`
	Params    map[string]string       `json:"params,omitempty"`

	// Short forms for Redis: the endpoints "redis" and "sentinel" and the parameter "master_name". Guests that do not know
	// the field Service use them.
	Nodes      []locks.Node `json:"nodes,omitempty"`
	Sentinels  []locks.Node `json:"sentinels,omitempty"`
	MasterName string       `json:"master_name,omitempty"`

	LocalAddr string `json:"local_addr,omitempty"` // an IP to bind connections to
	Dir       string `json:"dir,omitempty"`
	// AddrMap maps the addresses that servers announce to the addresses that this guest can reach.
	AddrMap map[string]string `json:"addr_map,omitempty"`
}

// Addresses converts a store without its dialer, in long and short forms.
func Addresses(s locks.Store) StoreAddresses {
	a := StoreAddresses{Topology: s.Topology, Service: s.Service, Endpoints: s.Endpoints, Params: s.Params, Dir: s.Dir}
	if s.Service == redis.Name {
		a.Nodes, a.Sentinels, a.MasterName = s.Nodes(), s.Endpoints[locks.Sentinels], s.Params[locks.MasterName]
	}
	return a
}

// Store returns the store. Its connections are bound to LocalAddr, if any, and use AddrMap, because faults identify a
// client by the source or the target of its connections.
func (a StoreAddresses) Store() (locks.Store, error) {
	s := locks.Store{Service: a.Service, Topology: a.Topology, Endpoints: a.Endpoints, Params: a.Params}
	if a.Service == "" {
		s = a.short()
	}
	s.Dir = a.Dir
	var err error
	s.Dial, err = a.dialer()
	return s, err
}

// short returns the store from the short forms. A host that sends no service has none or means Redis.
func (a StoreAddresses) short() locks.Store {
	switch a.Topology {
	case "", locks.None:
		return locks.Store{Topology: a.Topology}
	case locks.Sentinel:
		return redis.SentinelStore(a.MasterName, a.Sentinels...)
	}
	return redis.Store(a.Topology, a.Nodes...)
}
