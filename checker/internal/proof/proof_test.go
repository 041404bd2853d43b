package proof

import (
	"slices"
	"testing"
)

// TestProve has for each rule a history with a violation, and a similar history that proves nothing.
func TestProve(t *testing.T) {
	const granted = "0.000 c1 acquire a ttl=5s\n0.001 c1 ok until=5s\n"
	for _, c := range []struct{ rule, proven, not string }{
		{"double grant", granted + "0.100 c2 acquire a ttl=5s\n0.101 c2 ok until=5s\n0.200 c1 check\n0.201 c1 ok\n",
			granted + "0.100 c2 acquire b ttl=5s\n0.101 c2 ok until=5s\n0.200 c1 check\n0.201 c1 ok\n"},
		{"worked on", granted + "6.000 c2 acquire a ttl=5s\n6.001 c2 ok until=5s\n6.100 c1 check\n6.101 c1 ok\n",
			granted + "6.000 c2 acquire a ttl=5s\n6.001 c2 ok until=5s\n6.100 c1 check\n6.101 c1 fail lost\n"},
		{"two certain holders", granted + "0.010 c1 lost\n0.100 c2 acquire a ttl=5s\n0.101 c2 ok until=5s\n0.200 c1 release\n0.201 c1 ok\n",
			granted + "0.010 c1 lost\n0.100 c2 acquire a ttl=5s\n0.101 c2 ok until=5s\n0.200 c1 release\n0.201 c1 fail not-held\n"},
		{"handed over early", granted + "0.100 c1 died\n0.200 c2 acquire a ttl=5s\n0.201 c2 ok until=5s\n",
			granted + "0.100 c1 died\n5.200 c2 acquire a ttl=5s\n5.201 c2 ok until=5s\n"},
		{"released without holding", granted + "0.100 c2 acquire a\n0.200 c2 info timeout\n0.300 c2/7 release\n0.301 c2/7 ok\n",
			granted + "0.100 c2 acquire a\n0.200 c2 info timeout\n0.300 c2/7 release\n0.300 c1 release\n0.301 c2/7 ok\n"},
		{"renewed without holding", granted + "0.100 c1 release\n0.101 c1 ok\n0.200 c1 renew ttl=5s\n0.201 c1 ok until=5s\n",
			granted + "0.100 c1 release\n0.101 c1 info timeout\n0.200 c1/7 renew ttl=5s\n0.201 c1/7 ok until=5s\n"},
		{"released twice", granted + "0.100 c1 release\n0.101 c1 ok\n0.200 c1 release\n0.201 c1 ok\n",
			granted + "0.100 c1 release\n0.101 c1 info timeout\n0.200 c1/7 release\n0.201 c1/7 ok\n"},
		{"not held and then held", granted + "6.100 c1 renew ttl=5s\n6.101 c1 fail not-held\n6.200 c1 release\n6.201 c1 ok\n",
			granted + "6.100 c1 renew ttl=5s\n6.200 c1/7 release\n6.201 c1/7 ok\n6.202 c1 fail not-held\n"},
		{"evicted", granted + "0.100 c1 release\n0.101 c1 fail not-held\n",
			granted + "0.100 c1 release\n0.110 c1 info timeout\n0.120 c1/7 release\n0.121 c1/7 fail not-held\n"},
		{"refused though free", "0.000 c1 acquire a\n0.001 c1 fail taken strict=true\n",
			"0.000 c2 acquire a\n0.000 c1 acquire a\n0.001 c1 fail taken strict=true\n"},
		{"token fell", "header {\"model\":\"fenced\"}\n0.000 c1 acquire a\n0.001 c1 ok token=2\n0.002 c1 release\n0.003 c1 ok\n0.004 c2 acquire a\n0.005 c2 ok token=1\n",
			"header {\"model\":\"fenced\"}\n0.000 c1 acquire a\n0.001 c1 ok token=1\n0.002 c1 release\n0.003 c1 ok\n0.004 c2 acquire a\n0.005 c2 ok token=2\n"},
		{"token repeated", "header {\"model\":\"fenced\"}\n0.000 c1 acquire a\n0.001 c1 ok token=2\n0.002 c1 release\n0.003 c1 ok\n0.004 c2 acquire a\n0.005 c2 ok token=2\n",
			"header {\"model\":[\"reentrant\",\"fenced\"]}\n0.000 c1 acquire a owner=x\n0.001 c1 ok token=2\n0.004 c2 acquire a owner=x\n0.005 c2 ok token=2\n"},
		{"old token accepted", "0.000 c1 acquire a ttl=1s\n0.001 c1 ok token=1\n2.000 c2 acquire a\n2.001 c2 ok token=2\n" +
			"2.010 c2 read resource=fenced token=2\n2.011 c2 ok value=0\n2.012 c2 write resource=fenced token=2 value=1\n2.013 c2 ok\n" +
			"2.020 c1 read resource=fenced token=1\n2.021 c1 ok value=1\n2.022 c1 write resource=fenced token=1 value=2\n2.023 c1 ok\n",
			"0.000 c1 acquire a ttl=1s\n0.001 c1 ok token=1\n2.000 c2 acquire a\n2.001 c2 ok token=2\n" +
				"2.010 c2 read resource=fenced token=2\n2.011 c2 ok value=0\n2.012 c2 write resource=fenced token=2 value=1\n2.013 c2 ok\n" +
				"2.020 c1 read resource=fenced token=1\n2.021 c1 ok value=1\n2.022 c1 write resource=fenced token=1 value=2\n2.023 c1 fail stale-token\n"},
		{"written twice", granted + "0.002 c1 read resource=plain\n0.003 c1 ok value=0\n6.000 c2 acquire a\n6.001 c2 ok\n6.002 c2 read resource=plain\n6.003 c2 ok value=0\n" +
			"6.004 c2 write resource=plain value=1\n6.005 c2 ok\n6.006 c1 write resource=plain value=1\n6.007 c1 ok\n",
			granted + "0.002 c1 read resource=plain\n0.003 c1 ok value=5\n0.004 c1 write resource=plain value=5\n0.005 c1 ok\n0.006 c1 write resource=plain value=5\n0.007 c1 ok\n"},
		{"stale write", granted + "0.002 c1 read resource=plain\n0.003 c1 ok value=0\n6.000 c2 acquire a\n6.001 c2 ok\n6.002 c2 read resource=plain\n6.003 c2 ok value=0\n" +
			"6.004 c2 write resource=plain value=1\n6.005 c2 ok\n6.006 c1 write resource=plain value=1\n6.007 c1 ok\n",
			granted + "0.002 c1 read resource=plain\n0.003 c1 ok value=0\n6.000 c2 acquire a\n6.001 c2 ok\n6.002 c2 read resource=plain\n6.003 c2 ok value=0\n" +
				"6.004 c2 write resource=plain value=1\n6.005 c2 ok\n6.006 c1 write resource=plain value=1\n6.007 c1 info timeout\n"},
		{"overtaken", "header {\"claims\":{\"fair\":true}}\n0.000 c1 acquire a wait=5s\n0.050 probe queued=1.1\n0.100 c2 acquire a wait=5s\n0.200 c2 ok\n0.300 c2 release\n0.301 c2 ok\n0.302 c1 ok\n",
			"header {\"claims\":{\"fair\":true}}\n0.000 c1 acquire a wait=5s\n0.100 c2 acquire a wait=5s\n0.150 probe queued=1.1\n0.200 c2 ok\n0.300 c2 release\n0.301 c2 ok\n0.302 c1 ok\n"},
		{"lease short", granted + "0.010 probe key=a ttl=1s session=1.1\n", granted + "0.010 probe key=a ttl=4.99s session=1.1\n"},
		{"lease long", granted + "0.010 probe key=a ttl=500s session=1.1\n", granted + "6.000 probe key=a ttl=500s session=1.1\n"},
		{"lost wake-up", "0.000 probe quiet=begins\n0.001 c1 acquire a ttl=5s\n0.002 c1 ok\n0.100 c2 acquire a ttl=5s wait=9s\n0.200 c1 release\n0.201 c1 ok\n5.010 c2 ok\n6.000 probe quiet=ends\n",
			"0.000 probe quiet=begins\n0.001 c1 acquire a ttl=5s\n0.002 c1 ok\n0.100 c2 acquire a ttl=5s wait=9s\n0.200 c1 release\n0.201 c1 ok\n1.010 c2 ok\n6.000 probe quiet=ends\n"},
		{"no progress", "0.000 probe quiet=begins\n" + refusedSix + "9.000 probe quiet=ends\n",
			"0.000 c1 acquire a\n0.001 c1 ok\n0.002 probe quiet=begins\n" + refusedSix + "9.000 probe quiet=ends\n"},
	} {
		proves := func(text string) bool {
			proofs, err := Prove(text)
			if err != nil {
				t.Fatalf("%s: %v", c.rule, err)
			}
			return slices.ContainsFunc(proofs, func(p Proof) bool { return p.What == c.rule })
		}
		if !proves(c.proven) {
			t.Errorf("%s is not proven by\n%s", c.rule, c.proven)
		}
		if proves(c.not) {
			t.Errorf("%s is proven by\n%s", c.rule, c.not)
		}
		if told[c.rule] == nil {
			t.Errorf("no rule finds %q", c.rule)
		}
	}
}

const refusedSix = `1.000 c2 acquire a
1.001 c2 fail taken
1.300 c2 acquire a
1.301 c2 fail taken
1.600 c2 acquire a
1.601 c2 fail taken
1.900 c2 acquire a
1.901 c2 fail taken
2.200 c2 acquire a
2.201 c2 fail taken
2.500 c2 acquire a
2.501 c2 fail taken
`
