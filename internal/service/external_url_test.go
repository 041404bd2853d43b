package service

import (
	"errors"
	"strings"
	"testing"
)

// TestPasswordInURL: a password in a URL is refused, and no message has it.
func TestPasswordInURL(t *testing.T) {
	for _, text := range []string{
		"redis://:hunter2@a:6379", "redis://u:hunter2@a:6379", "redis://:hunter2@", "redis://:hunter2@a b:1", "redis://:hunter2@a:99999",
		"redis://:hun:hunter2@a", "redis://:hun@hunter2@a", "redis://:hun/hunter2@a", "redis://:hunter2/x@a/0", "redis://u:hun%zzhunter2@[::1",
		"redis://:hun?hunter2#hunter2@a", "redis://a:1,u:hunter2@b:2",
	} {
		_, err := OneGroup([]string{text}, "6379")
		if !errors.Is(err, ErrPassword) {
			t.Errorf("%s: %v, want %v", text, err, ErrPassword)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error has the password: %v", text, err)
		}
	}
}

func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"redis://:p@a:1":        "redis://:xxxxx@a:1",
		"redis://u:p@a:1/2":     "redis://u:xxxxx@a:1/2",
		"redis://u@a:1/2":       "redis://u@a:1/2",
		"redis://a:1,b:2":       "redis://a:1,b:2",
		":p@a:1":                ":xxxxx@a:1",
		"redis:p@a":             "redis:xxxxx@a",
		"redis://u:p@q/r:s@a:1": "redis://u:xxxxx@a:1",
		"":                      "",
	} {
		if got := Redacted(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
