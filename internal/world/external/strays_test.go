package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"lockbench/internal/service"
)

// TestStrays: keys that appeared since and have not the prefix in their names are strays. Keys that were there, and keys of
// the run, also with something before their names, are not.
func TestStrays(t *testing.T) {
	keys := []string{"a", "lockbench:7:old", "owner:1"}
	servers := service.ExternalServers{All: func(_ context.Context, most int) ([]string, error) {
		return slices.Clone(keys[:min(len(keys), most)]), nil
	}}
	strays := straysOf(t.Context(), servers, "lockbench:7:")
	if got := strays(t.Context()); len(got) > 0 {
		t.Errorf("before anything happened: %q", got)
	}
	keys = []string{"a", "b", "lockbench:7:a", "owner:2", "{lockbench:7:a}:queue"}
	if got, want := strays(t.Context()), []string{"b", "owner:2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStraysUnknown: without a list, with too many keys for one, or with an error nothing is said of strays.
func TestStraysUnknown(t *testing.T) {
	many := make([]string, straysMax+5)
	for i := range many {
		many[i] = fmt.Sprintf("%06d", i)
	}
	for name, all := range map[string]func(context.Context, int) ([]string, error){
		"no list":  nil,
		"too many": func(_ context.Context, most int) ([]string, error) { return many[:most], nil },
		"an error": func(context.Context, int) ([]string, error) { return nil, errors.New("down") },
	} {
		if straysOf(t.Context(), service.ExternalServers{All: all}, "lockbench:7:") != nil {
			t.Errorf("%s: strays are known", name)
		}
	}
}
