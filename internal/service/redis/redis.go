// Package redis is Redis as a lock service.
//
//	topology, config, settings   how servers are joined and started
//	servers, ask                 what the servers of all topologies have in common
//	replicated, sentinel, cluster   who leads, whether all is well, and how another node becomes the master
//	keeper, orders               keys, clocks and administrative orders
//	external                     servers that lockbench does not run
//	wire                         the requests of clients
//
// Each question past all faults has its own connection, because servers die and come back during a run. The
// same code controls the simulated servers of package simredis, see [Controlled].
package redis

import (
	_ "embed"
	"fmt"
	"net/netip"
	"path"
	"strconv"

	"lockbench/internal/service"
)

// settingsText has all settings of Redis 7. The names are those that Redis 7.0 answers to CONFIG GET *, and
// some that 7.2 and 7.4 have added:
//
//	redis-cli CONFIG GET '*' | awk 'NR%2==1' | sort
//
//go:embed settings.txt
var settingsText string

// Service is Redis.
var Service = &service.Service{
	Name: Name, Topologies: topologies, Settings: service.ReadSettings(settingsText),
	Needs: service.Needs{
		Programs: []service.Executable{
			// One binary, whose name decides whether it is a sentinel.
			{Name: "redis-server", Package: "redis-server", As: []string{"redis-server", "redis-sentinel"}},
			{Name: "redis-cli", Package: "redis-tools"},
		},
		Install:     "install one (on Debian or Ubuntu: apt-get install redis-server), or name it with --server redis=PATH",
		VersionArgs: []string{"--version"},
		Version:     service.VersionReader(`\bv=((\d+)\.\d+\.\d+)`, "a redis-server", majorMin, 0),
		Least:       strconv.Itoa(majorMin),
		Image:       image,
		Shell:       service.Shell{Ping: shellPing, Pong: []byte("+PONG\r\n")},
	},
	Program: program,
	Open:    func(t service.Topology, h service.Host) service.Servers { servers, _ := open(t, h); return servers },
	Wire:    wire,
	External: service.External{
		Schemes: []string{"redis", "rediss"}, Locate: locate, Login: logIn, Survey: survey, Open: openExternal,
	},
}

// majorMin is the first Redis with the required settings: bind-source-addr, which identifies the
// client of a connection, and SENTINEL DEBUG.
const majorMin = 7

// image is the official image of Redis 7.4.11 for amd64, arm64, arm, 386 and ppc64le, from docker-library's
// list of 19 September 2026. It is named by its digest, because a tag may name another image tomorrow.
const image = "redis:7-bookworm@sha256:c6eabf748fc7a61dbb5a705c78bcf3d6377b1127a97d0ce965c11c44ba46896f"

// program returns the command line and the configuration of a server or a sentinel.
func program(at service.Place) service.Program {
	file := path.Join(at.Config, "redis.conf")
	p := service.Program{Args: []string{file}, Files: map[string]string{file: config(at)}}
	if at.Node.Role == service.Witness {
		p.Args = append(p.Args, "--sentinel")
	}
	return p
}

func shellPing(at netip.AddrPort) (command, answer string) {
	return fmt.Sprintf("redis-cli -h %s -p %d PING", at.Addr(), at.Port()), "PONG"
}
