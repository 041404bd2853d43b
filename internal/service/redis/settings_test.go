package redis

import (
	"slices"
	"strings"
	"testing"

	"lockbench/internal/service"
)

func TestSettings(t *testing.T) {
	all := Service.Settings
	if len(all) < 190 {
		t.Fatalf("got %d settings, want all of Redis 7", len(all))
	}
	for i, s := range all {
		if s.Name == "" || s.About == "" || strings.HasPrefix(s.About, "!") {
			t.Errorf("line %d is not whole: %+v", i+1, s)
		}
		if i > 0 && all[i-1].Name >= s.Name {
			t.Errorf("%s stands before %s", all[i-1].Name, s.Name)
		}
		if strings.Contains(settingsText, "\n"+s.Name+" !") && s.Decided == "" {
			t.Errorf("%s is decided without a reason", s.Name)
		}
	}
	for _, name := range []string{"port", "bind", "dir", "requirepass", "replicaof", "cluster-enabled", "protected-mode", "daemonize"} {
		i := slices.IndexFunc(all, func(s service.Setting) bool { return s.Name == name })
		if i < 0 || all[i].Decided == "" {
			t.Errorf("a scenario may give %s", name)
		}
	}
}
