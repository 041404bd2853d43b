package redis

import (
	_ "embed"

	"lockbench/service"
)

// settingsText has all settings of Redis 7. The names are those that Redis 7.0 answers to CONFIG GET *, and
// some that 7.2 and 7.4 have added:
//
//	redis-cli CONFIG GET '*' | awk 'NR%2==1' | sort
//
//go:embed settings.txt
var settingsText string

// Settings returns all settings of Redis.
func (Service) Settings() []service.Setting { return service.ReadSettings(settingsText) }
