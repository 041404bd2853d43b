package redis_test

import (
	"net/netip"
	"testing"

	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
)

// A server's own values of its settings are among those that scenarios can have, and a word that is not among them is
// refused by the server, too.
func TestValuesOfSettings(t *testing.T) {
	at := netip.MustParseAddrPort(redistest.Start(t).Addr)
	reply, err := redistest.Ask(t.Context(), at, "CONFIG", "GET", "*")
	if err != nil {
		t.Fatal(err)
	}
	list := reply.([]any)
	own := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		own[list[i].(string)] = list[i+1].(string)
	}
	for _, s := range redis.Service.Settings {
		value, known := own[s.Name]
		if !known || len(s.Values) == 0 {
			continue // another version has it
		}
		if !s.Accepts(value) {
			t.Errorf("a scenario cannot set %s to %q, its default", s.Name, value)
		}
		if _, err := redistest.Ask(t.Context(), at, "CONFIG", "SET", s.Name, "maybe"); err == nil || s.Accepts("maybe") {
			t.Errorf("%s can be maybe: by the server %v, in a scenario %v", s.Name, err == nil, s.Accepts("maybe"))
		}
	}
}
