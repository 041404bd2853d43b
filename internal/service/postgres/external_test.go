package postgres

import (
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	for urls, want := range map[string]string{
		"postgres://a":                    "a:5432 postgres postgres false",
		"postgres+tls://app@a:1/shop":     "a:1 app shop true",
		"postgresql://a":                  "a:5432 postgres postgres false",
		"postgres://a,b":                  "name the primary",
		"postgres+ssl://a":                "postgres+tls:// for TLS",
		"postgres://a/shop?sslmode=allow": "settings in a URL",
		"postgres://app:secret@a":         "a password in a URL",
	} {
		l, err := Service.External.Locate(strings.Fields(urls))
		got := strings.Join([]string{strings.Join(l.Addrs, ","), l.User, l.Database, map[bool]string{true: "true", false: "false"}[l.TLS]}, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", urls, got, want)
		}
	}
}
