package guest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/service/redis"
	"lockbench/locks"
)

var (
	one       = locks.Node{Name: "redis-1", Addr: "127.20.4.65:7000"}
	two       = locks.Node{Name: "redis-2", Addr: "127.20.4.66:7000"}
	sentinels = []locks.Node{{Name: "sentinel-1", Addr: "127.20.4.68:7000"}, {Name: "sentinel-2", Addr: "127.20.4.69:7000"}}
)

// shortStores are stores and their bytes in the protocol before the field service.
var shortStores = map[string]struct {
	store locks.Store
	short string
}{
	"none":        {locks.Store{Topology: locks.None, Dir: "/shared"}, `{"topology":"none","dir":"/shared"}`},
	"single":      {redis.Store(locks.Single, one), `{"topology":"single","nodes":[{"name":"redis-1","addr":"127.20.4.65:7000"}]}`},
	"replicated":  {redis.Store(locks.Replicated, one), `{"topology":"replicated","nodes":[{"name":"redis-1","addr":"127.20.4.65:7000"}]}`},
	"cluster":     {redis.Store(locks.Cluster, one, two), `{"topology":"cluster","nodes":[{"name":"redis-1","addr":"127.20.4.65:7000"},{"name":"redis-2","addr":"127.20.4.66:7000"}]}`},
	"independent": {redis.Store(locks.Independent, one, two), `{"topology":"independent","nodes":[{"name":"redis-1","addr":"127.20.4.65:7000"},{"name":"redis-2","addr":"127.20.4.66:7000"}]}`},
	"sentinel": {redis.SentinelStore("mymaster", sentinels...), `{"topology":"sentinel",` +
		`"sentinels":[{"name":"sentinel-1","addr":"127.20.4.68:7000"},{"name":"sentinel-2","addr":"127.20.4.69:7000"}],"master_name":"mymaster"}`},
}

// A new guest understands an old lockbench.
func TestStoreOfOldHost(t *testing.T) {
	for name, c := range shortStores {
		var r Request
		if err := json.Unmarshal([]byte(`{"id":1,"op":"open","client":3,"store":`+c.short+`}`), &r); err != nil {
			t.Fatal(err)
		}
		client, err := NewClient(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.store, client.Store); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// An old guest finds its fields next to fields that it does not know.
func TestStoreForOldGuest(t *testing.T) {
	for name, c := range shortStores {
		said, err := json.Marshal(Addresses(c.store))
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := json.Unmarshal(said, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.short), &want); err != nil {
			t.Fatal(err)
		}
		for _, unknown := range []string{"service", "endpoints", "params"} {
			delete(got, unknown)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// A store survives the conversion, for any service. Only Redis has short forms, so that an old guest does not mistake
// another service for Redis.
func TestStoreCrosses(t *testing.T) {
	stores := map[string]locks.Store{
		"etcd": {
			Service: "etcd", Topology: "ensemble",
			Endpoints: map[string][]locks.Node{"etcd": {one, two}, "sentinel": sentinels},
			Params:    map[string]string{"master_name": "mymaster"},
		},
	}
	for name, c := range shortStores {
		stores[name] = c.store
	}
	for name, want := range stores {
		said, err := json.Marshal(Addresses(want))
		if err != nil {
			t.Fatal(err)
		}
		var a StoreAddresses
		if err := json.Unmarshal(said, &a); err != nil {
			t.Fatal(err)
		}
		got, err := a.Store()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if short := a.Nodes != nil || a.Sentinels != nil || a.MasterName != ""; short != (want.Service == redis.Name) {
			t.Errorf("%s: said %s", name, said)
		}
	}
}
