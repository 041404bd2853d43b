package locks

import (
	"slices"
	"testing"
)

// The model follows from the claims, unless the lock wants to be judged as something else.
func TestJudgedAs(t *testing.T) {
	for _, test := range []struct {
		card Card
		want []string
	}{
		{Card{}, []string{"mutex"}},
		{Card{Claims: Claims{Bounded: true, Fenced: true}}, []string{"mutex", "fenced"}},
		{Card{Claims: Claims{Reentrant: true, Fenced: true}}, []string{"mutex", "reentrant", "fenced"}},
		{Card{Claims: Claims{Reentrant: true, Shared: true}}, []string{"rw", "reentrant"}},
		{Card{Claims: Claims{Reentrant: true, Shared: true}, Model: []string{"mutex"}}, []string{"mutex"}},
	} {
		if got := test.card.JudgedAs(); !slices.Equal(got, test.want) {
			t.Errorf("%+v is judged as %v, want %v", test.card, got, test.want)
		}
	}
}
