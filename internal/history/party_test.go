package history

import "testing"

func TestParty(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   Party
		client bool
	}{
		{"client-0", Party{"client", 0}, true},
		{"client-12", Party{"client", 12}, true},
		{"redis-1", Party{"redis", 1}, false},
		{"sentinel-3", Party{"sentinel", 3}, false},
		{"client", Party{"client", -1}, false},
		{"client-x", Party{"client-x", -1}, false},
		{"client--3", Party{"client-", 3}, false},
		{"client-2147483647", Party{"client", 2147483647}, true},
		{"client-2147483648", Party{"client-2147483648", -1}, false},
		{"client-", Party{"client-", -1}, false},
		{"client-+3", Party{"client-+3", -1}, false},
		{"client-3x", Party{"client-3x", -1}, false},
		{"3", Party{"3", -1}, false},
		{"my-server-2", Party{"my-server", 2}, false},
		{"", Party{"", -1}, false},
	} {
		p := ParseParty(c.name)
		if p != c.want || p.IsClient() != c.client || p.String() != c.name {
			t.Errorf("%q is %+v, a client: %v, written %q", c.name, p, p.IsClient(), p)
		}
	}
	if p := ClientParty(7); p.String() != "client-7" || ParseParty("client-7") != p {
		t.Errorf("client 7 is %s", p)
	}
}
