package external

import (
	"context"
	"slices"
	"strings"

	"lockbench/internal/service"
)

// straysMax is how many keys the servers may have, so that reading their names twice costs nothing that clients would notice.
const straysMax = 10_000

// straysOf returns a function that lists the keys which have appeared since and do not have the prefix of the run in their
// names: a guest probably names them without the key of its request. It returns nil if that cannot be known.
func straysOf(ctx context.Context, servers service.ExternalServers, prefix string) func(context.Context) []string {
	if servers.All == nil {
		return nil
	}
	before, err := servers.All(ctx, straysMax)
	if err != nil || len(before) == straysMax {
		return nil
	}
	return func(ctx context.Context) []string {
		now, err := servers.All(ctx, straysMax)
		if err != nil {
			return nil
		}
		return slices.DeleteFunc(now, func(key string) bool {
			_, old := slices.BinarySearch(before, key)
			return old || strings.Contains(key, prefix)
		})
	}
}
