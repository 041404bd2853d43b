package report

import (
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/history"
)

// broughtBack is a history in which client 1 writes 1 over 2, and client 4, which had read 2, writes 3 over that: of the
// four writes only that of client 1 is lost.
const broughtBack = `{"lockbench":"history/1","lock":"x","model":"mutex"}
{"time":10000000,"process":1,"type":"invoke","f":"acquire","session":"1.1","key":"a","ttl":9000000000}
{"time":20000000,"process":1,"type":"ok","f":"acquire","session":"1.1","until":9000000000}
{"time":30000000,"process":1,"type":"invoke","f":"read","session":"1.1","key":"a"}
{"time":40000000,"process":1,"type":"ok","f":"read","session":"1.1","value":0}
{"time":50000000,"process":2,"type":"invoke","f":"acquire","session":"2.1","key":"a","ttl":9000000000}
{"time":60000000,"process":2,"type":"ok","f":"acquire","session":"2.1","until":9000000000}
{"time":70000000,"process":2,"type":"invoke","f":"read","session":"2.1","key":"a"}
{"time":80000000,"process":2,"type":"ok","f":"read","session":"2.1","value":0}
{"time":90000000,"process":2,"type":"invoke","f":"write","session":"2.1","key":"a","value":1}
{"time":100000000,"process":2,"type":"ok","f":"write","session":"2.1","value":1}
{"time":110000000,"process":2,"type":"invoke","f":"release","session":"2.1"}
{"time":120000000,"process":2,"type":"ok","f":"release","session":"2.1"}
{"time":130000000,"process":3,"type":"invoke","f":"acquire","session":"3.1","key":"a","ttl":9000000000}
{"time":140000000,"process":3,"type":"ok","f":"acquire","session":"3.1","until":9000000000}
{"time":150000000,"process":3,"type":"invoke","f":"read","session":"3.1","key":"a"}
{"time":160000000,"process":3,"type":"ok","f":"read","session":"3.1","value":1}
{"time":170000000,"process":3,"type":"invoke","f":"write","session":"3.1","key":"a","value":2}
{"time":180000000,"process":3,"type":"ok","f":"write","session":"3.1","value":2}
{"time":190000000,"process":3,"type":"invoke","f":"release","session":"3.1"}
{"time":200000000,"process":3,"type":"ok","f":"release","session":"3.1"}
{"time":210000000,"process":4,"type":"invoke","f":"acquire","session":"4.1","key":"a","ttl":9000000000}
{"time":220000000,"process":4,"type":"ok","f":"acquire","session":"4.1","until":9000000000}
{"time":230000000,"process":4,"type":"invoke","f":"read","session":"4.1","key":"a"}
{"time":240000000,"process":4,"type":"ok","f":"read","session":"4.1","value":2}
{"time":250000000,"process":1,"type":"invoke","f":"write","session":"1.1","key":"a","value":1}
{"time":260000000,"process":1,"type":"ok","f":"write","session":"1.1","value":1}
{"time":270000000,"process":4,"type":"invoke","f":"write","session":"4.1","key":"a","value":3}
{"time":280000000,"process":4,"type":"ok","f":"write","session":"4.1","value":3}
{"time":290000000,"process":4,"type":"invoke","f":"read","session":"4.1","key":"a"}
{"time":300000000,"process":4,"type":"ok","f":"read","session":"4.1","value":3}
`

// TestHarmIsWhatIsLost: the counterexample counts the writes that the judge found lost, as the table does, and not those
// that a later write brought back.
func TestHarmIsWhatIsLost(t *testing.T) {
	h, err := history.Read(strings.NewReader(broughtBack))
	if err != nil {
		t.Fatal(err)
	}
	l := NewLock(h, checker.Judge(h, checker.Options{}))
	resource, _ := l.Check(checker.Resource)
	if resource.LostUpdates != 1 || l.Counterexample == nil || l.Counterexample.Harm != "1 write lost: client 1 wrote 1 over 2." {
		t.Errorf("the table has %d writes lost, and the counterexample says %+v", resource.LostUpdates, l.Counterexample)
	}
	// Without its last value it is unknown which writes are lost, and no number is given.
	text := strings.Join(strings.SplitAfter(broughtBack, "\n")[:2], "")
	for _, line := range strings.SplitAfter(broughtBack, "\n")[2:] {
		if !strings.Contains(line, `"read"`) {
			text += line
		}
	}
	if h, err = history.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if l = NewLock(h, checker.Judge(h, checker.Options{})); l.Counterexample == nil || strings.Contains(l.Counterexample.Harm, "lost") {
		t.Errorf("without reads the counterexample says %+v", l.Counterexample)
	}
}
