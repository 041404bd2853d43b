package redis

import (
	_ "embed"
	"strings"

	"lockbench/service"
)

// settingsText is what Redis 7 can be set to, a line a name. The names are those that
// Redis 7.0 answers to CONFIG GET *, and some that 7.2 and 7.4 have added:
//
//	redis-cli CONFIG GET '*' | awk 'NR%2==1' | sort
//
// A word between ! and the meaning is a key of decided.
//
//go:embed settings.txt
var settingsText string

// decided are the reasons why a scenario cannot give a setting.
var decided = map[string]string{
	"!where":    "lockbench decides where servers listen and where they keep their files",
	"!access":   "lockbench asks servers without a password, and decides who may reach them",
	"!joined":   "lockbench joins servers as `topology` says",
	"!operated": "lockbench starts and ends servers itself, and orders them with DEBUG",
}

// Settings are all that Redis knows.
func (Service) Settings() []service.Setting {
	var all []service.Setting
	for line := range strings.Lines(settingsText) {
		name, about, _ := strings.Cut(strings.TrimSpace(line), " ")
		s := service.Setting{Name: name, About: strings.TrimSpace(about)}
		if strings.HasPrefix(s.About, "!") {
			reason, rest, _ := strings.Cut(s.About, " ")
			s.Decided, s.About = decided[reason], rest
		}
		all = append(all, s)
	}
	return all
}
