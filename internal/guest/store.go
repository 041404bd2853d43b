package guest

import (
	"lockbench/locks"
	"lockbench/service/redis"
)

// StoreAddresses is locks.Store as it goes to another process.
type StoreAddresses struct {
	Topology  locks.Topology          `json:"topology"`
	Service   string                  `json:"service,omitempty"`
	Endpoints map[string][]locks.Node `json:"endpoints,omitempty"`
	Params    map[string]string       `json:"params,omitempty"`

	// The short forms, of Redis alone: its endpoints "redis" and "sentinel", and its
	// parameter "master_name". Guests that know nothing of Service read these.
	Nodes      []locks.Node `json:"nodes,omitempty"`
	Sentinels  []locks.Node `json:"sentinels,omitempty"`
	MasterName string       `json:"master_name,omitempty"`

	LocalAddr string `json:"local_addr,omitempty"` // an IP to bind connections to
	Dir       string `json:"dir,omitempty"`
	// AddrMap gives for the addresses by which servers name each other those by
	// which this guest reaches them.
	AddrMap map[string]string `json:"addr_map,omitempty"`
}

// Addresses is a store without its dialer, in long and in short forms.
func Addresses(s locks.Store) StoreAddresses {
	a := StoreAddresses{Topology: s.Topology, Service: s.Service, Endpoints: s.Endpoints, Params: s.Params, Dir: s.Dir}
	if s.Service == redis.Name {
		a.Nodes, a.Sentinels, a.MasterName = s.Nodes(), s.Endpoints[redis.Sentinels], s.Params[redis.MasterName]
	}
	return a
}

// Store is the store that the addresses lead to. Its connections are bound to
// LocalAddr, if there is one, and go by AddrMap: faults know a client by where its
// connections come from, or by where they arrive.
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

// short is the store by the short forms: a host that names no service has none, or
// means Redis.
func (a StoreAddresses) short() locks.Store {
	switch a.Topology {
	case "", locks.None:
		return locks.Store{Topology: a.Topology}
	case redis.Sentinel:
		return redis.SentinelStore(a.MasterName, a.Sentinels...)
	}
	return redis.Store(a.Topology, a.Nodes...)
}
