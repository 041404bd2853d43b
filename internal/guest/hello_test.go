package guest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/locks"
)

// A hello that is made from a card has its fields in the protocol's order and converts back to the card. Without a model
// it is a mutex.
func TestHelloOf(t *testing.T) {
	card := locks.Card{Name: "mine", Family: locks.Majority, Claims: locks.Claims{Bounded: true, Fenced: true}}
	h := HelloOf(card)
	h.Hello, h.Version, h.SourceAddress = ProtocolVersion, "1.0", true
	line, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"hello":"lockbench-guest/1","name":"mine","version":"1.0","family":"majority",` +
		`"claims":{"bounded":true,"fenced":true},"model":["mutex","fenced"],"source_address":true}`
	if string(line) != want {
		t.Errorf("the line is %s\nwant %s", line, want)
	}
	card.Model = []string{"mutex", "fenced"}
	if diff := cmp.Diff(card, h.Card()); diff != "" {
		t.Errorf("the card (-want +got):\n%s", diff)
	}
	if got := (Hello{Claims: locks.Claims{Reentrant: true}}).Card().Model; !cmp.Equal(got, []string{"mutex"}) {
		t.Errorf("a guest that names no model is judged as %v", got)
	}
}
